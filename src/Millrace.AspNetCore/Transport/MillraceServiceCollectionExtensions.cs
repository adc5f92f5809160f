using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Routing;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.DependencyInjection.Extensions;
using Millrace.AspNetCore;
using Millrace.AspNetCore.Connecting;
using Millrace.AspNetCore.Https;
using Millrace.AspNetCore.Safety;
using Millrace.AspNetCore.Transport;

namespace Microsoft.Extensions.DependencyInjection;

/// <summary>Registers the Millrace transport of Kestrel.</summary>
public static class MillraceServiceCollectionExtensions
{
    /// <summary>
    /// The same as <c>UseMillrace</c>, for those who have no web host builder at hand. It also registers an
    /// <see cref="IConnectionFactory"/>, unless there is one, that connects on the reactors to IP addresses, unix sockets and names.
    /// </summary>
    public static IServiceCollection AddMillraceTransport(
        this IServiceCollection services, Action<MillraceTransportOptions>? configure = null)
    {
        ArgumentNullException.ThrowIfNull(services);
        services.AddOptions<MillraceTransportOptions>();
        if (configure is not null)
        {
            services.Configure(configure);
        }

        services.TryAddSingleton<HttpsEndPoints>();

        // Kestrel asks the last one registered first, and adds the sockets transport only where there is none yet: it must be there before.
        services.TryAddSingleton<IConnectionListenerFactory, SocketTransportFactory>();
        services.TryAddEnumerable(ServiceDescriptor.Singleton<IConnectionListenerFactory, MillraceTransportFactory>());
        // Who connects by another factory, whoever has registered it, goes on doing so.
        services.TryAddSingleton<IConnectionFactory>(MillraceConnectionFactory.Create);
        services.TryAddEnumerable(ServiceDescriptor.Singleton<IStartupFilter, RequestNotes>());
        services.TryAddEnumerable(ServiceDescriptor.Singleton<MatcherPolicy, OffReactorPolicy>());
        return services;
    }
}
