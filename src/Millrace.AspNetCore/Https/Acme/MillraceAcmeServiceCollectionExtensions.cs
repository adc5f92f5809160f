using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.DependencyInjection.Extensions;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using Microsoft.Extensions.Hosting;
using Millrace.AspNetCore;
using Millrace.AspNetCore.Https.Acme;

namespace Microsoft.Extensions.DependencyInjection;

/// <summary>Registers what obtains certificates by ACME.</summary>
public static class MillraceAcmeServiceCollectionExtensions
{
    /// <summary>
    /// For applications without <c>UseMillrace</c>, which registers the same. Nothing is obtained unless an endpoint asks for it, by
    /// <c>UseAcmeHttps</c> or <c>UseMillraceHttps(https => https.UseAcme())</c>.
    /// </summary>
    public static IServiceCollection AddMillraceAcme(this IServiceCollection services, Action<MillraceAcmeOptions>? configure = null)
    {
        ArgumentNullException.ThrowIfNull(services);
        services.AddOptions<MillraceAcmeOptions>();
        if (configure is not null)
        {
            services.Configure(configure);
        }

        services.TryAddSingleton<ObtainedCertificates>();
        services.TryAddEnumerable(ServiceDescriptor.Singleton<IHostedService, ObtainedCertificates>(
            static all => all.GetRequiredService<ObtainedCertificates>()));
        services.TryAddEnumerable(ServiceDescriptor.Singleton<IStartupFilter, HttpChallengeMiddleware>());
        return services;
    }

    /// <summary>
    /// Adds a check of the certificates that are obtained: unhealthy (or <paramref name="failureStatus"/>) while one is missing or expired,
    /// degraded while the last attempt to renew one has failed. Its data has the names, with expiry, next renewal and last error of each.
    /// </summary>
    public static IHealthChecksBuilder AddMillraceAcme(
        this IHealthChecksBuilder builder, string name = "acme", HealthStatus? failureStatus = null, IEnumerable<string>? tags = null)
    {
        ArgumentNullException.ThrowIfNull(builder);
        ArgumentNullException.ThrowIfNull(name);
        builder.Services.AddMillraceAcme(configure: null);
        return builder.Add(new HealthCheckRegistration(
            name, static all => new AcmeHealthCheck(ObtainedCertificates.Of(all)), failureStatus, tags));
    }
}
