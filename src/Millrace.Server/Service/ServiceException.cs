namespace Millrace.Server.Service;

/// <summary>The host does not let the process give up what it was to, or hands over what is of no use; the message says why.</summary>
internal sealed class ServiceException(string message) : Exception(message);
