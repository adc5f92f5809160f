using System.Collections.Concurrent;
using System.Security.Cryptography;
using Microsoft.Extensions.Logging;
using Millrace.Engine;
using Millrace.Engine.Stages;
using Millrace.Tls.Certificates;
using Millrace.Tls.Handshakes;
using Millrace.Tls.OpenSsl;
using Millrace.Tls.Tickets;

namespace Millrace.Tls;

/// <summary>
/// Terminates TLS for any number of listeners: the certificates, the keys of tickets and the counters that all their connections share.
/// Dispose it when no listener uses it any more: what connections still need is freed with the last of them. Any thread.
/// </summary>
public sealed class TlsTerminator : IDisposable
{
    private readonly ConcurrentDictionary<Reactor, ReactorDesk> _desks = new();
    private readonly TlsOptions _options;
    private int _isDisposed;
    private HolderCount _holders = new();

    private TlsTerminator(TlsOptions options, TlsLog log)
    {
        _options = options;
        Log = log;
        HandshakeMs = (long)options.HandshakeTimeout.TotalMilliseconds;
        Protocols = [.. options.ApplicationProtocols.Select(static name => new ApplicationProtocol(name))];
        Certificates = new CertificateStore(new ContextMaker(options, log).MakeAll);
        TicketKeys = new TicketKeys(options.TicketKeyLifetime);
        KeyLog = options.KeyLogFile is null ? null : new KeyLog(options.KeyLogFile, log);
    }

    /// <summary>What became of handshakes.</summary>
    public TlsCounters Counters { get; } = new();

    internal TlsLog Log { get; }

    internal long HandshakeMs { get; }

    internal CutStream CutStream => _options.CutStream;

    internal ConnectionPlaces? Places => _options.Places;

    internal IReadOnlyList<ApplicationProtocol> Protocols { get; }

    internal CertificateStore Certificates { get; }

    internal TicketKeys TicketKeys { get; }

    /// <summary>Whether a client is known by a certificate that was verified in its handshake, and is not in a resumed one.</summary>
    internal bool VerifiesClients => _options.ClientCertificates != ClientCertificates.None && _options.ClientAuthoritiesFile is not null;

    internal KeyLog? KeyLog { get; }

    /// <summary>Reads certificates and keys.</summary>
    /// <exception cref="TlsException">Something is not as it must be; the message says what, and what to do.</exception>
    public static TlsTerminator Create(TlsOptions options, ILoggerFactory loggerFactory)
    {
        ArgumentNullException.ThrowIfNull(options);
        ArgumentNullException.ThrowIfNull(loggerFactory);
        options.Validate();
        OpenSslLibrary.Require();
        return new TlsTerminator(options, new TlsLog(loggerFactory.CreateLogger("Millrace.Tls")));
    }

    /// <summary>
    /// Reads certificates and keys anew. Connections that are open keep theirs. False where the new ones cannot be had: those in use stay,
    /// and the log says why.
    /// </summary>
    public bool TryReload()
    {
        try
        {
            Log.CertificatesReloaded(string.Join(", ", Certificates.Replace().Names));
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

    /// <summary>For a connection, until it releases it.</summary>
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

    /// <summary>The stages of a connection that speaks TLS: what a listener is given.</summary>
    internal IReadOnlyList<ConnectionStage> StagesOf(Connection connection) => [new TlsStage(this, connection)];

    internal ReactorDesk DeskOf(Reactor reactor) =>
        _desks.GetOrAdd(reactor, static (key, budget) => new ReactorDesk(key, budget), _options.HandshakeTimePerTurn);
}
