using Microsoft.AspNetCore.Hosting;

namespace Millrace.AspNetCore.Tests.Kit;

/// <summary>The one line of difference between the applications under test.</summary>
internal static class Transports
{
    public static IWebHostBuilder UseTransport(this IWebHostBuilder host, TransportKind kind) => kind switch
    {
        TransportKind.Sockets => host,
        _ => throw new ArgumentOutOfRangeException(nameof(kind), kind, "No such transport."),
    };
}
