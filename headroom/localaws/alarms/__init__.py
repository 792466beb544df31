"""CloudWatch's alarms: evaluation once a minute, contributors, events on transitions."""
