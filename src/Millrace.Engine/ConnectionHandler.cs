namespace Millrace.Engine;

/// <summary>
/// Serves one connection from its first byte to its last. Starts on the reactor's thread, without ambient values
/// (<see cref="AsyncLocal{T}"/>). When the task completes, the connection is closed in order; when it fails, the connection is reset and
/// the exception logged.
/// </summary>
public delegate Task ConnectionHandler(Connection connection);
