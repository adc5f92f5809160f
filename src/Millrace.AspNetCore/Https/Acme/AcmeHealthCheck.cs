using Microsoft.Extensions.Diagnostics.HealthChecks;
using Millrace.Acme;

namespace Millrace.AspNetCore.Https.Acme;

/// <summary>The state of the certificates that are obtained. Asks nobody. Any thread.</summary>
internal sealed class AcmeHealthCheck(ObtainedCertificates certificates) : IHealthCheck
{
    public Task<HealthCheckResult> CheckHealthAsync(HealthCheckContext context, CancellationToken cancellationToken = default)
    {
        DateTimeOffset now = certificates.Clock.GetUtcNow();
        var data = new Dictionary<string, object>(StringComparer.Ordinal);
        var problems = new List<(HealthStatus Status, string Text)>();
        foreach (AcmeCertificate one in certificates.Certificates)
        {
            string names = string.Join(", ", one.Names);
            AddData(data, names, one);
            string reason = one.LastError is { } error ? $": {error}" : ".";
            (HealthStatus, string)? problem = one switch
            {
                { NotAfter: null } => (context.Registration.FailureStatus, $"There is no certificate for {names} yet{reason}"),
                _ when one.NotAfter <= now =>
                    (context.Registration.FailureStatus, $"The certificate for {names} expired at {one.NotAfter:u}{reason}"),
                { LastError: not null } => (HealthStatus.Degraded, $"The certificate for {names} could not be renewed{reason}"),
                _ => null,
            };
            if (problem is { } found)
            {
                problems.Add(found);
            }
        }

        // The lowest value is the worst.
        HealthStatus status = problems.Count == 0 ? HealthStatus.Healthy : problems.Min(static problem => problem.Status);
        string? description = problems.Count == 0 ? null : string.Join(' ', problems.Select(static problem => problem.Text));
        return Task.FromResult(new HealthCheckResult(status, description, data: data));
    }

    /// <summary>By names; those of the second kind of key get a number.</summary>
    private static void AddData(Dictionary<string, object> data, string names, AcmeCertificate certificate)
    {
        string key = names;
        for (int number = 2; data.ContainsKey(key); number++)
        {
            key = $"{names} ({number})";
        }

        data[key] = new Dictionary<string, object?>(StringComparer.Ordinal)
        {
            ["expiry"] = certificate.NotAfter,
            ["nextRenewal"] = certificate.NextRenewal,
            ["lastError"] = certificate.LastError,
        };
    }
}
