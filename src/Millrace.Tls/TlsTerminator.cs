using System.Collections.Concurrent;
using System.Security.Cryptography;
using Microsoft.Extensions.Logging;
using Millrace.Engine;
using Millrace.Engine.Filters;
using Millrace.Tls.Certificates;
using Millrace.Tls.Handshakes;
using Millrace.Tls.OpenSsl;
using Millrace.Tls.Quic;
using Millrace.Tls.Tickets;

namespace Millrace.Tls;

/// <summary>
/// Terminates TLS for any number of listeners: owns the certificates, ticket keys and counters that their connections share. Dispose it
/// when no listener uses it any more; what open connections need is freed with the last of them. Any thread.
/// </summary>
public sealed class TlsTerminator : IDisposable
{
    private readonly ConcurrentDictionary<Reactor, TlsReactorState> _reactorStates = new();
    private readonly TlsOptions _options;
    private int _isDisposed;
    private ReferenceCount _holders = new();

    private TlsTerminator(TlsOptions options, TlsLog log)
    {
        _options = options;
        Log = log;
        HandshakeMs = (long)options.HandshakeTimeout.TotalMilliseconds;
        Protocols = [.. options.ApplicationProtocols.Select(static name => new ApplicationProtocol(name))];
        Certificates = new CertificateStore(new ServerContextFactory(options, log), options.Certificates, log);
        TicketKeys = new TicketKeys(options.TicketKeyLifetime);
        KeyLog = options.KeyLogFile is null ? null : new KeyLog(options.KeyLogFile, log);
    }

    /// <summary>Counts of handshakes.</summary>
    public TlsCounters Counters { get; } = new();

    internal TlsLog Log { get; }

    internal long HandshakeMs { get; }

    internal bool AcceptsTruncation => _options.AcceptsTruncation;

    internal ConnectionQuota? Quota => _options.Quota;

    internal IReadOnlyList<ApplicationProtocol> Protocols { get; }

    internal CertificateStore Certificates { get; }

    internal TicketKeys TicketKeys { get; }

    /// <summary>Whether clients are authenticated by certificates, which only a full handshake verifies.</summary>
    internal bool VerifiesClients => _options.ClientCertificates != ClientCertificates.None && _options.ClientAuthoritiesFile is not null;

    internal Func<string, ValueTask<LoadedCertificate?>>? ChallengeCertificates => _options.ChallengeCertificates;

    internal bool ServesQuic => _options.ServesQuic;

    internal KeyLog? KeyLog { get; }

    /// <summary>Loads certificates and keys.</summary>
    /// <exception cref="TlsException">A certificate, a key or OpenSSL is missing or not valid; the message names the remedy.</exception>
    public static TlsTerminator Create(TlsOptions options, ILoggerFactory loggerFactory)
    {
        ArgumentNullException.ThrowIfNull(options);
        ArgumentNullException.ThrowIfNull(loggerFactory);
        options.Validate();
        OpenSslLibrary.Require();
        return new TlsTerminator(options, new TlsLog(loggerFactory.CreateLogger("Millrace.Tls")));
    }

    /// <summary>
    /// Reloads certificates and keys. Open connections keep theirs. False if that fails: those in use stay, and the reason is logged.
    /// </summary>
    public bool TryReload() => TryReplace(null);

    /// <summary>
    /// Serves other certificates from now on, which later reloads read. Open connections keep theirs. False if that fails: those in use
    /// stay, and the reason is logged.
    /// </summary>
    public bool TryReplaceCertificates(IReadOnlyList<ServerCertificate> certificates)
    {
        ArgumentNullException.ThrowIfNull(certificates);
        return TryReplace(certificates);
    }

    private bool TryReplace(IReadOnlyList<ServerCertificate>? certificates)
    {
        try
        {
            Log.CertificatesReloaded(string.Join(", ", Certificates.Replace(certificates).Names));
            return true;
        }
        catch (Exception refusal) when (refusal is TlsException or IOException or UnauthorizedAccessException or CryptographicException)
        {
            Log.CertificatesKept(refusal.Message);
            return false;
        }
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        if (Interlocked.Exchange(ref _isDisposed, 1) == 0)
        {
            Release();
        }
    }

    /// <summary>Adds a connection's reference, until the connection releases it.</summary>
    /// <exception cref="ObjectDisposedException">It is freed: a listener has outlived it.</exception>
    internal void Hold() => ObjectDisposedException.ThrowIf(!_holders.TryHold(), this);

    internal void Release()
    {
        if (_holders.IsLastToRelease())
        {
            Certificates.Dispose();
            TicketKeys.Dispose();
            KeyLog?.Dispose();
        }
    }

    internal IReadOnlyList<ConnectionFilter> FiltersOf(Connection connection) => [new TlsServerFilter(this, connection)];

    /// <summary>The server's end of a new QUIC connection. Only of a terminator for QUIC.</summary>
    internal QuicServerHandshake AcceptQuic() => ServesQuic
        ? new QuicServerHandshake(this)
        : throw new InvalidOperationException("The terminator is one for TLS over TCP.");

    internal TlsReactorState ReactorStateOf(Reactor reactor) =>
        _reactorStates.GetOrAdd(
            reactor,
            static (key, options) => new TlsReactorState(key, options.HandshakeTimePerIteration, options.HalfOpenHandshakesMax),
            _options);
}
