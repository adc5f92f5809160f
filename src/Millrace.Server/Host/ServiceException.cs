namespace Millrace.Server.Host;

/// <summary>Privileges cannot be dropped, or a passed socket cannot be used; the message says why.</summary>
internal sealed class ServiceException(string message) : Exception(message);
