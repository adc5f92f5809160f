using System.Net;
using Millrace.Engine;
using Millrace.StaticFiles;

namespace Millrace.Server;

/// <summary>What the command line asked for.</summary>
/// <param name="Site">The site that answers for every host but those of <paramref name="Hosts"/>.</param>
/// <param name="Hosts">Further sites, by host; they share all options but the root.</param>
/// <param name="Addresses">Where to listen.</param>
/// <param name="Reactors">How many; 0 for one a core.</param>
/// <param name="Backend">How the kernel is asked.</param>
/// <param name="Limits">The bounds.</param>
internal sealed record ServeOptions(
    SiteOptions Site,
    IReadOnlyList<HostedRoot> Hosts,
    IReadOnlyList<EndPoint> Addresses,
    int Reactors,
    BackendKind Backend,
    ServeLimits Limits);
