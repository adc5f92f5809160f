using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.DependencyInjection.Extensions;
using Millrace.AspNetCore;
using Millrace.AspNetCore.Transport;

namespace Microsoft.Extensions.DependencyInjection;

/// <summary>Registers the Millrace transport of Kestrel.</summary>
public static class MillraceServiceCollectionExtensions
{
    /// <summary>The same as <c>UseMillrace</c>, for those who have no web host builder at hand.</summary>
    public static IServiceCollection AddMillraceTransport(
        this IServiceCollection services, Action<MillraceTransportOptions>? configure = null)
    {
        ArgumentNullException.ThrowIfNull(services);
        services.AddOptions<MillraceTransportOptions>();
        if (configure is not null)
        {
            services.Configure(configure);
        }

        // Kestrel asks the last one registered first, and adds the sockets transport only where there is none yet: it must be there before.
        services.TryAddSingleton<IConnectionListenerFactory, SocketTransportFactory>();
        services.TryAddEnumerable(ServiceDescriptor.Singleton<IConnectionListenerFactory, MillraceTransportFactory>());
        return services;
    }
}
