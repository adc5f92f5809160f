namespace Millrace.Server.AccessLog;

/// <summary>The access log cannot be opened; the message names cause and remedy.</summary>
internal sealed class AccessLogException(string message) : Exception(message);
