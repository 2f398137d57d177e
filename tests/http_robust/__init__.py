"""The HTTP transport against clients that drop, dawdle, lie and come in crowds, on real sockets."""
