"""The official TypeScript SDK's client, 2.x line; ts2.mjs has it."""

import bridge
import harness

if __name__ == "__main__":
    harness.main(bridge.connector("ts2.mjs"))
