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

    /// <summary>The end of the last loop of each folder. The next one for the same folder begins after it.</summary>
    private readonly Dictionary<string, Task> _ends = new(StringComparer.Ordinal);
    private bool _isObtaining;
    private bool _isReadFailing;
    private bool _isLockFailing;
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
        Challenges = new ChallengeTable(_store.Challenges());
        _context = new LoopContext(
            options,
            _store,
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
    public ChallengeTable Challenges { get; }

    /// <summary>All certificates, in the order of the options, one for each kind of key. A snapshot.</summary>
    public IReadOnlyList<AcmeCertificate> Certificates => [.. _managed.Select(static one => one.Loop.Status.Certificate)];

    /// <summary>
    /// The files to serve, of which the first that has a name serves it: the certificates, then earlier ones for names whose own is not
    /// obtained yet. A snapshot.
    /// </summary>
    public IReadOnlyList<string> Files
    {
        get
        {
            LoopStatus[] all = [.. _managed.Select(static one => one.Loop.Status)];
            IEnumerable<InstalledCertificate> own = all.Where(static one => one.IsOwn).Select(static one => one.InUse[0]);
            return [.. own.Concat(all.SelectMany(static one => one.InUse)).Select(static one => one.File).Distinct(StringComparer.Ordinal)];
        }
    }

    /// <summary>Whether another process obtains the certificates of this folder, and this one only reads them.</summary>
    public bool IsReader => !_store.IsHolder;

    internal string Directory => _directory;

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
    /// Obtains these certificates from now on. Those that were managed before go on undisturbed; others are no longer renewed, and stay
    /// until they have expired.
    /// </summary>
    /// <param name="certificates">As <see cref="AcmeOptions.Certificates"/>; empty for none.</param>
    /// <exception cref="AcmeConfigurationException">The names cannot be used; then nothing changes.</exception>
    public void Replace(IReadOnlyList<IReadOnlyList<string>> certificates)
    {
        IReadOnlyList<CertificateRequest> requests = Requests(certificates);
        lock (_changing)
        {
            ObjectDisposedException.ThrowIf(_isDisposed, this);
            Dictionary<string, ManagedCertificate> before = _managed.ToDictionary(static one => one.Request.Folder, StringComparer.Ordinal);
            IReadOnlyList<ManagedCertificate> next =
                [.. requests.Select(request => before.GetValueOrDefault(request.Folder) ?? Manage(request))];
            ManagedCertificate[] added = [.. next.Except(_managed)];
            ManagedCertificate[] removed = [.. _managed.Except(next)];
            _managed = next;
            Array.ForEach(removed, static one => one.End.Cancel());
            if (_isObtaining)
            {
                Begin(added);
            }
            else
            {
                Array.ForEach(removed, static one => one.End.Dispose());
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
        await Task.WhenAll(_ends.Values);
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
        var loop = new CertificateLoop(_context, request, OnInstalled);
        loop.Load();
        return new ManagedCertificate(request, loop, CancellationTokenSource.CreateLinkedTokenSource(_end.Token));
    }

    /// <summary>Under the lock.</summary>
    private void Begin(IEnumerable<ManagedCertificate> added)
    {
        foreach (string ended in _ends.Where(static one => one.Value.IsCompleted).Select(static one => one.Key).ToArray())
        {
            _ends.Remove(ended);
        }

        KeepHouse(isNamed: true);
        foreach (ManagedCertificate one in added)
        {
            Waits.Enter();
            Task before = _ends.GetValueOrDefault(one.Request.Folder, Task.CompletedTask);
            _ends[one.Request.Folder] = Task.Run(() => RunAsync(one, before), CancellationToken.None);
        }
    }

    private static async Task RunAsync(ManagedCertificate one, Task before)
    {
        await before;
        await one.Loop.RunAsync(one.End.Token);
        one.End.Dispose();
    }

    private void OnInstalled()
    {
        lock (_changing)
        {
            KeepHouse(isNamed: false);
        }

        RaiseChanged();
    }

    /// <summary>Names what is obtained here, and removes what has expired and is not configured any more. Under the lock.</summary>
    [SuppressMessage("Design", "CA1031", Justification = "It is logged, and certificates are obtained and renewed all the same.")]
    private void KeepHouse(bool isNamed)
    {
        try
        {
            if (isNamed)
            {
                _store.WriteHolder(_managed.SelectMany(static one => one.Request.Names));
            }

            IEnumerable<string> used = Files.Select(static file => Path.GetFileName(Path.GetDirectoryName(file)!));
            IEnumerable<string> ending = _ends.Where(static one => !one.Value.IsCompleted).Select(static one => one.Key);
            _store.RemoveExpired(
                new HashSet<string>([.. _managed.Select(static one => one.Request.Folder), .. ending, .. used], StringComparer.Ordinal),
                _context.Clock.GetUtcNow());
        }
        catch (Exception e)
        {
            _log.HousekeepingFailed(e, _directory);
        }
    }

    /// <summary>Takes over what the process with the lock writes, until it has ended.</summary>
    private async Task ReadUntilHolderAsync(CancellationToken cancel)
    {
        _log.Reading(_directory);
        while (true)
        {
            // Each by itself: what is obtained is taken over even if the lock cannot be tried.
            bool isHolder = TryOrLog(_store.TryLock, _log.LockFailed, ref _isLockFailing);
            if (TryOrLog(TryRefresh, _log.ReadFailed, ref _isReadFailing))
            {
                RaiseChanged();
            }

            if (isHolder)
            {
                _log.TakenOver(_directory);
                return;
            }

            await Waits.ForAsync(ReadInterval, cancel);
        }
    }

    private bool TryRefresh()
    {
        StoreHolder? holder = IsReader ? _store.ReadHolder() : null;
        bool isChanged = false;
        foreach (ManagedCertificate one in _managed)
        {
            isChanged |= one.Loop.Refresh(holder is null ? null : DescribeUnattended(one.Request, holder));
        }

        return isChanged;
    }

    /// <summary>Why the process with the lock obtains no certificates for names of this one; null if it does.</summary>
    private string? DescribeUnattended(CertificateRequest request, StoreHolder holder)
    {
        string[] missing = [.. request.Names.Except(holder.Names)];
        return missing.Length == 0
            ? null
            : $"The process {holder.Process} on {holder.Machine} obtains the certificates in {_directory}, and none for "
                + $"{string.Join(", ", missing)}. Give this server a folder of its own, or give both the same names.";
    }

    /// <summary>Logs the first of the failures in a row.</summary>
    [SuppressMessage("Design", "CA1031", Justification = "It is logged and tried again: reading ends only with the manager.")]
    private bool TryOrLog(Func<bool> action, Action<Exception, string> log, ref bool isFailing)
    {
        try
        {
            bool result = action();
            isFailing = false;
            return result;
        }
        catch (Exception e)
        {
            if (!isFailing)
            {
                log(e, _directory);
            }

            isFailing = true;
            return false;
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
