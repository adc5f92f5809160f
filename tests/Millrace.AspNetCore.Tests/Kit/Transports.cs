using Microsoft.AspNetCore.Hosting;
using Millrace.Tests.Shared;

namespace Millrace.AspNetCore.Tests.Kit;

/// <summary>The one line of difference between the applications under test.</summary>
internal static class Transports
{
    public static IWebHostBuilder UseTransport(this IWebHostBuilder host, TransportKind kind) => kind switch
    {
        TransportKind.Sockets => host,
        TransportKind.Millrace => host.UseMillrace(static options => options.Backend = AskedBackend.Kind),
        TransportKind.MillraceOnThePool => host.UseMillrace(static options =>
        {
            options.Backend = AskedBackend.Kind;
            options.Scheduling = TransportScheduling.ThreadPool;
        }),
        _ => throw new ArgumentOutOfRangeException(nameof(kind), kind, "No such transport."),
    };
}
