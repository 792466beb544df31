"""The proving ground: the physics of EBS and the rules of AWS, for simulations and tests."""
