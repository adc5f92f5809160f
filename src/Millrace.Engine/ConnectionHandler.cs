namespace Millrace.Engine;

/// <summary>
/// Serves one connection from its first byte to its last. Starts on the reactor's thread, without ambient values
/// (<see cref="AsyncLocal{T}"/>) of anybody's; when the task ends the connection is ended in order, when it fails the connection is
/// reset and the error logged.
/// </summary>
public delegate Task ConnectionHandler(Connection connection);
