"""The official TypeScript SDK's client, 1.x line; ts1.mjs has it."""

import bridge
import harness

if __name__ == "__main__":
    harness.main(bridge.connector("ts1.mjs"))
