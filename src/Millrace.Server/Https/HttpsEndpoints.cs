using Microsoft.Extensions.Logging;
using Millrace.Acme;
using Millrace.Tls;

namespace Millrace.Server.Https;

/// <summary>
/// The current TLS configuration, and the certificates that are obtained for it. A replaced one is freed with the last connection that uses
/// it. Any thread; changes take a lock.
/// </summary>
internal sealed class HttpsEndpoints : IDisposable
{
    private static readonly TimeSpan RetryAfter = TimeSpan.FromMinutes(1);

    private readonly Lock _changing = new();
    private HttpsOptions _configured = new();
    private string? _localFolder;
    private volatile HttpsEndpoint? _current;
    private volatile AcmeManager? _acme;

    /// <summary>Takes over what could not be loaded when it was obtained.</summary>
    private readonly Timer _retry;
    private readonly ILoggerFactory _logging;

    public HttpsEndpoints(ILoggerFactory logging)
    {
        _logging = logging;
        _retry = new Timer(_ => UseObtained());
    }

    /// <summary>TLS of new connections; null without HTTPS.</summary>
    public HttpsEndpoint? Current => _current;

    /// <summary>The certificates in use.</summary>
    public IReadOnlyList<ServedCertificate> Certificates => _current?.Certificates ?? [];

    /// <summary>The certificates that are obtained and renewed, those that are missing as well.</summary>
    public IReadOnlyList<AcmeCertificate> Obtained => _acme?.Certificates ?? [];

    /// <summary>Keeps the local certificate in this folder, from the next one that is opened on.</summary>
    public void KeepLocalCertificateIn(string folder) => _localFolder = folder;

    /// <summary>Serves what this manager obtains, and answers the authority's validations, from now on. The caller owns it.</summary>
    public void Attach(AcmeManager acme)
    {
        _acme = acme;
        UseObtained();
    }

    /// <summary>Serves the certificates that have been obtained by now.</summary>
    public void UseObtained()
    {
        lock (_changing)
        {
            UseObtained(_current);
        }
    }

    /// <summary>Returns TLS for these options, which may be the current one; null without HTTPS.</summary>
    /// <exception cref="TlsException">The certificates cannot be used; the message says why.</exception>
    public HttpsEndpoint? OpenNext(HttpsOptions configured)
    {
        lock (_changing)
        {
            if (Current is not null && configured.Addresses.Count > 0 && _configured.HasSameTls(configured)
                && Current.HasPasswordsOf(configured))
            {
                return Current;
            }

            var next = HttpsEndpoint.Open(configured, _logging, _localFolder, FindChallengeAsync);
            UseObtained(next);
            return next;
        }
    }

    /// <summary>Closes one that was opened but will not be used.</summary>
    public void Discard(HttpsEndpoint? next) => Close(next, Current);

    /// <summary>Makes this the current one. No new connection uses the previous one.</summary>
    public void Replace(HttpsEndpoint? next, HttpsOptions configured)
    {
        lock (_changing)
        {
            HttpsEndpoint? before = Current;
            _current = next;
            _configured = configured;
            if (before != next)
            {
                // What was obtained since this one was opened.
                UseObtained(next);
            }

            Close(before, next);
        }
    }

    /// <summary>Reads the files of certificates again. False, and logged, if those in use stay.</summary>
    public bool Reload()
    {
        lock (_changing)
        {
            return _current?.Reload() ?? true;
        }
    }

    public void Dispose()
    {
        _retry.Dispose();
        Replace(null, _configured);
    }

    private static void Close(HttpsEndpoint? endpoint, HttpsEndpoint? kept)
    {
        if (endpoint != kept)
        {
            endpoint?.Dispose();
        }
    }

    private void UseObtained(HttpsEndpoint? endpoint)
    {
        IReadOnlyList<AcmeCertificate> all = Obtained;
        if (endpoint is null || all.Count == 0)
        {
            return;
        }

        CertificateFiles[] files = [.. _acme!.Files.Select(static file => new CertificateFiles(file, file))];
        if (!endpoint.Use(files, isComplete: all.All(static one => one.File is not null)))
        {
            // A file may be in the middle of an exchange, or descriptors used up. The reason is logged each time.
            _retry.Change(RetryAfter, Timeout.InfiniteTimeSpan);
        }
    }

    private async ValueTask<LoadedCertificate?> FindChallengeAsync(string host) =>
        _acme is { } acme && await acme.Challenges.FindCertificateAsync(host) is { } found ? new LoadedCertificate(found) : null;
}
