using Microsoft.Extensions.DependencyInjection;
using Millrace.AspNetCore;

namespace Microsoft.AspNetCore.Hosting;

/// <summary>Makes Kestrel serve its addresses by Millrace's reactors.</summary>
public static class MillraceWebHostBuilderExtensions
{
    /// <summary>
    /// Kestrel's addresses are served by Millrace. What Millrace cannot serve, the transport that was there before serves: the application
    /// runs everywhere.
    /// </summary>
    public static IWebHostBuilder UseMillrace(this IWebHostBuilder hostBuilder)
    {
        ArgumentNullException.ThrowIfNull(hostBuilder);
        return hostBuilder.ConfigureServices(static services => services.AddMillraceTransport());
    }

    /// <summary>As <see cref="UseMillrace(IWebHostBuilder)"/>, with options.</summary>
    public static IWebHostBuilder UseMillrace(this IWebHostBuilder hostBuilder, Action<MillraceTransportOptions> configureOptions)
    {
        ArgumentNullException.ThrowIfNull(hostBuilder);
        ArgumentNullException.ThrowIfNull(configureOptions);
        return hostBuilder.ConfigureServices(services => services.AddMillraceTransport(configureOptions));
    }
}
