using Microsoft.Extensions.DependencyInjection;
using Millrace.AspNetCore;

namespace Microsoft.AspNetCore.Hosting;

/// <summary>Makes Millrace the transport of Kestrel.</summary>
public static class MillraceWebHostBuilderExtensions
{
    /// <summary>
    /// Serves Kestrel's endpoints with Millrace. Endpoints that Millrace cannot serve stay with the previously registered transport, so
    /// that the application runs everywhere.
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
