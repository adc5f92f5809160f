using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Routing;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.DependencyInjection.Extensions;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using Millrace.AspNetCore;
using Millrace.AspNetCore.Connecting;
using Millrace.AspNetCore.Multiplexed;
using Millrace.AspNetCore.Safety;
using Millrace.AspNetCore.Transport;

namespace Microsoft.Extensions.DependencyInjection;

/// <summary>Registers the Millrace transport of Kestrel.</summary>
public static class MillraceServiceCollectionExtensions
{
    /// <summary>
    /// The same as <c>UseMillrace</c>, for use without a web host builder. It also registers an <see cref="IConnectionFactory"/>, unless
    /// there is one, that connects on the reactors to IP addresses, unix sockets and host names.
    /// </summary>
    public static IServiceCollection AddMillraceTransport(
        this IServiceCollection services, Action<MillraceTransportOptions>? configure = null)
    {
        ArgumentNullException.ThrowIfNull(services);
        services.AddOptions<MillraceTransportOptions>();
        services.TryAddEnumerable(ServiceDescriptor.Singleton<IConfigureOptions<MillraceTransportOptions>, OptionsFromConfiguration>());
        if (configure is not null)
        {
            services.Configure(configure);
        }

        services.TryAddSingleton<EndPointBuilds>();
        services.TryAddSingleton(static all => new TransportLog(
            all.GetRequiredService<ILoggerFactory>().CreateLogger(TransportLog.Category)));
        services.TryAddSingleton(static all => new BlockingPolicies(TimeProvider.System, all.GetRequiredService<TransportLog>()));

        // Kestrel asks the last registered factory first, and adds the sockets transport only where there is none yet: it must be
        // registered before.
        services.TryAddSingleton<IConnectionListenerFactory, SocketTransportFactory>();
        services.TryAddEnumerable(ServiceDescriptor.Singleton<IConnectionListenerFactory, MillraceTransportFactory>());
        if (OperatingSystem.IsLinux())
        {
            // Asked before Kestrel's own QUIC transport, which is registered only where its library is installed.
            services.TryAddEnumerable(
                ServiceDescriptor.Singleton<IMultiplexedConnectionListenerFactory, MultiplexedTransportFactory>(
                    MultiplexedTransportFactory.Create));
        }

        // A factory that is registered already stays in use.
        services.TryAddSingleton<IConnectionFactory>(MillraceConnectionFactory.Create);
        services.TryAddEnumerable(ServiceDescriptor.Singleton<IStartupFilter, RequestTrackingMiddleware>());
        services.TryAddEnumerable(ServiceDescriptor.Singleton<MatcherPolicy, OffReactorPolicy>());
        return services.AddMillraceAcme(configure: null);
    }
}
