using System.Diagnostics.CodeAnalysis;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.Acme.Challenges;
using Millrace.Acme.Protocol;
using Millrace.Acme.Renewal;
using Millrace.Acme.Storage;

namespace Millrace.Acme;

/// <summary>The ways to prove control over a name that a server can answer.</summary>
[Flags]
public enum AcmeChallengeTypes
{
    /// <summary>None.</summary>
    None = 0,

    /// <summary>A file on the plain port 80 (RFC 8555, section 8.3).</summary>
    Http01 = 1,

    /// <summary>A handshake on port 443 (RFC 8737).</summary>
    TlsAlpn01 = 2,
}

/// <summary>
/// Obtains certificates and renews them until it is disposed of. It never blocks its callers on the network or the disk, except its
/// constructor, which reads the folder. Any thread.
/// </summary>
public sealed class AcmeManager : IAsyncDisposable
{
    private static readonly TimeSpan ReadInterval = TimeSpan.FromSeconds(10);
    private readonly string _directory;
    private readonly Action _changed;
    private readonly AcmeLog _log;
    private readonly AcmeStore _store;
    private readonly AcmeRequests _requests;
    private readonly AccountKeeper _accounts;
    private readonly DnsHook? _hook;
    private readonly AcmeOptions _options;
    private readonly AcmeChallengeTypes _answered;
    private readonly LoopContext _context;
    private readonly CancellationTokenSource _end = new();

    /// <summary>For changes of the loops. Readers take the list without it.</summary>
    private readonly Lock _changing = new();
    private volatile IReadOnlyList<ManagedCertificate> _managed = [];
    private Task _loopsEnd = Task.CompletedTask;
    private bool _isObtaining;
    private Task _running = Task.CompletedTask;
    private bool _isStarted;
    private bool _isDisposed;

    /// <param name="options">What to obtain.</param>
    /// <param name="answered">
    /// The challenges that the caller answers from <see cref="Challenges"/>. DNS-01 is by <see cref="AcmeOptions.DnsHook"/>.
    /// </param>
    /// <param name="changed">Called on the thread pool after a certificate's file was replaced, or first written.</param>
    /// <param name="logging">Receives what happens.</param>
    /// <param name="clock">The time, and all waits.</param>
    /// <exception cref="AcmeConfigurationException">The options or the folder cannot be used; the message names the remedy.</exception>
    public AcmeManager(
        AcmeOptions options, AcmeChallengeTypes answered, Action changed, ILoggerFactory logging, TimeProvider? clock = null)
        : this(options, answered, changed, logging, clock ?? TimeProvider.System, AcmeClient.Create, null)
    {
    }

    /// <param name="options">What to obtain.</param>
    /// <param name="answered">The challenges that the caller answers.</param>
    /// <param name="changed">See above.</param>
    /// <param name="logging">Receives what happens.</param>
    /// <param name="clock">The time, and all waits.</param>
    /// <param name="connect">Makes the client, which this owns.</param>
    /// <param name="step">See <see cref="AtomicFiles"/>.</param>
    internal AcmeManager(
        AcmeOptions options,
        AcmeChallengeTypes answered,
        Action changed,
        ILoggerFactory logging,
        TimeProvider clock,
        Func<AcmeOptions, TimeProvider, ILogger, IAcmeClient> connect,
        Action<string>? step)
    {
        IReadOnlyList<CertificateRequest> requests = CertificateRequest.All(options, answered);
        var logger = new NonThrowingLogger(logging.CreateLogger("Millrace.Acme"));
        _options = options;
        _answered = answered;
        _changed = changed;
        _directory = options.Directory;
        _log = new AcmeLog(logger);
        _requests = new AcmeRequests(connect(options, clock, logger));
        try
        {
            _store = AcmeStore.Open(options.Directory, _log, step);
        }
        catch (AcmeConfigurationException)
        {
            _requests.Dispose();
            throw;
        }

        _hook = options.DnsHook is null ? null : new DnsHook(options.DnsHook, clock);
        _accounts = new AccountKeeper(_store.Account(options.DirectoryUrl), _requests, options, clock, _log);
        Waits = new LoopWaits(clock);
        _context = new LoopContext(
            options,
            _requests,
            _accounts,
            new ChallengeResponder(answered, Challenges, _hook, clock, _log),
            Waits,
            new Polling(Waits, clock),
            clock,
            _log);
        _managed = [.. requests.Select(Manage)];
    }

    /// <summary>The challenges that are open now.</summary>
    public ChallengeTable Challenges { get; } = new();

    /// <summary>All certificates, in the order of the options, one for each kind of key. A snapshot.</summary>
    public IReadOnlyList<AcmeCertificate> Certificates => [.. _managed.Select(static one => one.Loop.Status)];

    /// <summary>Whether another process obtains the certificates of this folder, and this one only reads them.</summary>
    public bool IsReader => !_store.IsHolder;

    /// <summary>For tests, which move their clock when all loops wait.</summary>
    internal LoopWaits Waits { get; }

    /// <summary>Checks the options without the network and without writing.</summary>
    /// <param name="options">What to obtain.</param>
    /// <param name="answered">The challenges that the caller would answer.</param>
    /// <exception cref="AcmeConfigurationException">They cannot be used; the message names the remedy.</exception>
    public static void Check(AcmeOptions options, AcmeChallengeTypes answered)
    {
        ArgumentNullException.ThrowIfNull(options);
        _ = CertificateRequest.All(options, answered);
        AcmeClient.Create(options, TimeProvider.System, NullLogger.Instance).Dispose();
    }

    /// <summary>Checks names for <see cref="Replace"/>.</summary>
    /// <exception cref="AcmeConfigurationException">They cannot be used; the message names the remedy.</exception>
    public void CheckNames(IReadOnlyList<IReadOnlyList<string>> certificates) => _ = Requests(certificates);

    /// <summary>Begins to obtain what is missing and to renew what is due. Once.</summary>
    /// <exception cref="InvalidOperationException">It was started before, or has ended.</exception>
    public void Start()
    {
        if (_isStarted || _isDisposed)
        {
            throw new InvalidOperationException("A manager of certificates starts once.");
        }

        _isStarted = true;
        Waits.Enter();
        _running = Task.Run(() => RunAsync(_end.Token));
    }

    /// <summary>
    /// Obtains these certificates from now on. Those that were managed before go on undisturbed; others are no longer renewed, and their
    /// files stay.
    /// </summary>
    /// <param name="certificates">As <see cref="AcmeOptions.Certificates"/>; empty for none.</param>
    /// <exception cref="AcmeConfigurationException">The names cannot be used; then nothing changes.</exception>
    public void Replace(IReadOnlyList<IReadOnlyList<string>> certificates)
    {
        IReadOnlyList<CertificateRequest> requests = Requests(certificates);
        lock (_changing)
        {
            ObjectDisposedException.ThrowIf(_isDisposed, this);
            IReadOnlyList<ManagedCertificate> before = _managed;
            _managed = [.. requests.Select(request => before.FirstOrDefault(one => one.Request.IsSame(request)) ?? Manage(request))];
            foreach (ManagedCertificate removed in before.Except(_managed))
            {
                removed.End.Cancel();
            }

            if (_isObtaining)
            {
                Begin(_managed.Except(before));
            }
        }

        RaiseChanged();
    }

    /// <summary>Stops. An order that is under way is continued by the next process.</summary>
    public async ValueTask DisposeAsync()
    {
        lock (_changing)
        {
            if (_isDisposed)
            {
                return;
            }

            _isDisposed = true;
        }

        await _end.CancelAsync();
        await _running;
        await _loopsEnd;
        _requests.Dispose();
        _accounts.Dispose();
        _hook?.Dispose();
        _store.Dispose();
        _end.Dispose();
    }

    private async Task RunAsync(CancellationToken cancel)
    {
        try
        {
            if (IsReader)
            {
                await ReadUntilHolderAsync(cancel);
            }

            lock (_changing)
            {
                _isObtaining = true;
                Begin(_managed);
            }
        }
        catch (OperationCanceledException) when (cancel.IsCancellationRequested)
        {
            // The end.
        }
        finally
        {
            Waits.Leave();
        }
    }

    private IReadOnlyList<CertificateRequest> Requests(IReadOnlyList<IReadOnlyList<string>> certificates) =>
        certificates.Count == 0 ? [] : CertificateRequest.All(_options with { Certificates = certificates }, _answered);

    private ManagedCertificate Manage(CertificateRequest request)
    {
        var loop = new CertificateLoop(_context, request.Names, request.Kind, _store.Certificate(request.Folder), RaiseChanged);
        loop.Load();
        return new ManagedCertificate(request, loop, CancellationTokenSource.CreateLinkedTokenSource(_end.Token));
    }

    /// <summary>Under the lock.</summary>
    private void Begin(IEnumerable<ManagedCertificate> added)
    {
        foreach (ManagedCertificate one in added)
        {
            Waits.Enter();
            _loopsEnd = Task.WhenAll(_loopsEnd, Task.Run(() => one.Loop.RunAsync(one.End.Token), CancellationToken.None));
        }
    }

    /// <summary>Takes over what the process with the lock writes, until it has ended.</summary>
    private async Task ReadUntilHolderAsync(CancellationToken cancel)
    {
        _log.Reading(_directory);
        bool isFailing = false;
        while (true)
        {
            try
            {
                bool isHolder = _store.TryLock();
                bool isChanged = false;
                foreach (ManagedCertificate one in _managed)
                {
                    isChanged |= one.Loop.Refresh();
                }

                if (isChanged)
                {
                    RaiseChanged();
                }

                if (isHolder)
                {
                    _log.TakenOver(_directory);
                    return;
                }

                isFailing = false;
            }
            catch (Exception e) when (e is IOException or UnauthorizedAccessException)
            {
                if (!isFailing)
                {
                    _log.WatchFailed(e, _directory);
                }

                isFailing = true;
            }

            await Waits.ForAsync(ReadInterval, cancel);
        }
    }

    [SuppressMessage("Design", "CA1031", Justification = "What the caller throws is logged; the next change is raised all the same.")]
    private void RaiseChanged() => ThreadPool.UnsafeQueueUserWorkItem(
        static manager =>
        {
            try
            {
                manager._changed();
            }
            catch (Exception e)
            {
                manager._log.ChangedFailed(e);
            }
        },
        this,
        preferLocal: false);
}

/// <summary>A certificate that is obtained and renewed until its end is requested.</summary>
internal sealed record ManagedCertificate(CertificateRequest Request, CertificateLoop Loop, CancellationTokenSource End);

/// <summary>Options or a folder that cannot be used. The message names the cause and the remedy.</summary>
public sealed class AcmeConfigurationException(string message, Exception? cause = null) : Exception(message, cause);
