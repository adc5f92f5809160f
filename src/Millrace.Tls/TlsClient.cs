using System.Collections.Concurrent;
using System.Security.Cryptography;
using Microsoft.Extensions.Logging;
using Millrace.Engine;
using Millrace.Engine.Filters;
using Millrace.Tls.Certificates;
using Millrace.Tls.Handshakes;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls;

/// <summary>
/// TLS for connections to servers, which are verified: by the system's authorities or those of a file, and by name. Owns the settings and,
/// for each server, the sessions to resume. Any thread; none of it blocks but <see cref="Create"/> and <see cref="TryReload"/>.
/// </summary>
internal sealed class TlsClient : IDisposable
{
    private readonly ConcurrentDictionary<(string Host, int Port), TlsTarget> _targets = new();
    private readonly Lock _replacing = new();
    private readonly string? _authoritiesFile;
    private readonly bool _isForQuic;
    private ClientContext _context;

    private TlsClient(string? authoritiesFile, bool isForQuic, TlsLog log)
    {
        _authoritiesFile = authoritiesFile;
        _isForQuic = isForQuic;
        Log = log;
        _context = ClientContext.Make(authoritiesFile, isForQuic);
    }

    public TlsCounters Counters { get; } = new(ofClient: true);

    public TlsLog Log { get; }

    /// <summary>Loads the authorities.</summary>
    /// <param name="authoritiesFile">The certificates to trust, in PEM; null for the system's.</param>
    /// <param name="loggerFactory">Gets the log lines of TLS.</param>
    /// <param name="isForQuic">Whether its connections are those of QUIC, and no others.</param>
    /// <exception cref="TlsException">They, or OpenSSL, are missing or not valid; the message names the remedy.</exception>
    public static TlsClient Create(string? authoritiesFile, ILoggerFactory loggerFactory, bool isForQuic = false)
    {
        OpenSslLibrary.Require();
        return new TlsClient(authoritiesFile, isForQuic, new TlsLog(loggerFactory.CreateLogger("Millrace.Tls")));
    }

    /// <summary>The filters of connections to a server, for <see cref="Engine.Connecting.ConnectSettings.Filters"/>.</summary>
    /// <param name="host">A name, or an IP address (IPv6 without brackets), which the server's certificate must have.</param>
    /// <param name="port">Sessions are kept for each port.</param>
    public Func<Connection, IReadOnlyList<ConnectionFilter>> FiltersFor(string host, int port) =>
        TargetOf(host, port).FiltersOf;

    public TlsTarget TargetOf(string host, int port) =>
        _targets.GetOrAdd((host.ToLowerInvariant(), port), static (key, client) => new TlsTarget(client, key.Host, key.Port), this);

    /// <summary>
    /// Reloads the authorities: no session of before is resumed. False if that fails: those in use stay, and the reason is logged.
    /// </summary>
    public bool TryReload()
    {
        try
        {
            lock (_replacing)
            {
                ClientContext next = ClientContext.Make(_authoritiesFile, _isForQuic);
                Interlocked.Exchange(ref _context, next).Release();
            }

            Log.CertificatesReloaded($"the authorities of {_authoritiesFile ?? "the system"}");
            return true;
        }
        catch (Exception refusal) when (refusal is TlsException or IOException or UnauthorizedAccessException or CryptographicException)
        {
            Log.CertificatesKept(refusal.Message);
            return false;
        }
    }

    /// <summary>When no connection is begun any more; open ones have what they need.</summary>
    public void Dispose()
    {
        _context.Release();
        foreach (TlsTarget target in _targets.Values)
        {
            target.Sessions.Close();
        }
    }

    public bool IsCurrent(ClientContext context) => Volatile.Read(ref _context) == context;

    /// <summary>The current settings, which the caller releases.</summary>
    /// <exception cref="ObjectDisposedException">There are none any more.</exception>
    public ClientContext Acquire()
    {
        while (true)
        {
            ClientContext current = Volatile.Read(ref _context);
            if (current.TryHold())
            {
                return current;
            }

            ObjectDisposedException.ThrowIf(current == Volatile.Read(ref _context), this);
        }
    }
}
