using System.Net;

namespace Millrace.Server.Service;

/// <summary>A listening socket that a service manager has bound.</summary>
/// <param name="Descriptor">Its number, which stays the manager's: what is listened on is a copy.</param>
/// <param name="Name">What the manager calls it; empty where it says nothing.</param>
internal sealed record HandedSocket(int Descriptor, string Name)
{
    /// <summary>By its name, where no address says so: systemd's FileDescriptorName=, or else the name of the socket's unit.</summary>
    public bool IsForHttps => Name.Contains("https", StringComparison.OrdinalIgnoreCase);

    /// <summary>Null for what cannot be listened on.</summary>
    public EndPoint? EndPoint { get; init; }
}
