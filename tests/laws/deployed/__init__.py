"""The law over the deployed handlers: real clients and adapters, an AWS that misbehaves behind them."""
