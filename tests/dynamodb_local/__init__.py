"""DynamoDB Local on 127.0.0.1, brought from Maven Central once and kept under build/."""
