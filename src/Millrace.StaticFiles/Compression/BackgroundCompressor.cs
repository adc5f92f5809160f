using Millrace.Http;
using Millrace.Interop.Threads;
using Millrace.StaticFiles.Dictionaries;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Compression;

/// <summary>
/// Proves the coded files of a site and compresses the others while it is served, on one low-priority thread: no request waits for a
/// coding. Starts a pass after each change of the site, when files that kept changing have paused, and after memory was freed if it was
/// short, because slow requests can hold old variants long. Last it codes with dictionaries. Dispose it before its catalog.
/// </summary>
internal sealed class BackgroundCompressor : IDisposable
{
    /// <summary>The lowest priority: 1/70 of a reactor's share if both want the same processor.</summary>
    private const int Niceness = 19;

    private readonly AssetCatalog _catalog;
    private readonly CompressionPass _pass;
    private readonly SiblingPass _siblings;
    private readonly DictionaryPass? _dictionaries;
    private readonly ITimer _timer;
    private readonly Action<Exception> _failed;
    private readonly Action? _succeeded;
    private readonly CancellationTokenSource _stop = new();
    private readonly Thread _thread;

    /// <summary>
    /// Guards the flags. A monitor needs no disposal: a change or a free that is in progress during disposal may still signal afterwards.
    /// </summary>
    private readonly object _monitor = new();
    private bool _hasChanged = true;
    private bool _hasFreed;

    /// <summary>Whether the present pass met an error. Used on the compressor's thread.</summary>
    private bool _hasFailed;
    private volatile bool _isWorking;

    /// <summary>Written by the compressor's thread.</summary>
    private long _ranMicroseconds;
    private long _dictionaryMicroseconds;

    private BackgroundCompressor(
        AssetCatalog catalog,
        SiteOptions options,
        Action<Exception> failed,
        Action? succeeded,
        EncodeBody code,
        Action<IReadOnlyList<Sibling>> refused,
        Func<Action<Exception>, DictionaryPass>? dictionaries)
    {
        _catalog = catalog;
        _dictionaries = dictionaries?.Invoke(Fail);
        _siblings = new SiblingPass(catalog, TimeProvider.System, refused, Fail);
        _pass = new CompressionPass(catalog, options.ResolveCompressedBytesTotalMax(), Fail, Measured(code), TimeProvider.System);
        _timer = TimeProvider.System.CreateTimer(_ => OnChanged(), null, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
        _failed = failed;
        _succeeded = succeeded;
        _thread = new Thread(Run) { IsBackground = true, Name = "millrace-compress" };
    }

    /// <summary>Whether a pass is running. Any thread.</summary>
    public bool IsWorking => _isWorking;

    /// <summary>The processor time that was used so far, by all files that are done. Any thread.</summary>
    public TimeSpan ProcessorTime =>
        TimeSpan.FromMicroseconds(Volatile.Read(ref _ranMicroseconds) - Volatile.Read(ref _dictionaryMicroseconds));

    /// <summary>The processor time that was used so far by coding with dictionaries. Any thread.</summary>
    public TimeSpan DictionaryTime => TimeSpan.FromMicroseconds(Volatile.Read(ref _dictionaryMicroseconds));

    /// <summary>The variants for dictionaries that were made so far. Any thread.</summary>
    public long DictionaryVariantsMade => _dictionaries?.Made ?? 0;

    /// <param name="catalog">The site. With <see cref="SiteOptions.Compression"/> off only coded files are proven.</param>
    /// <param name="options">The catalog's options.</param>
    /// <param name="failed">
    /// Called on the compressor's thread with an unexpected error. Files that failed are tried again in the next pass.
    /// </param>
    /// <param name="succeeded">Called on the compressor's thread after a pass over the whole site without an error.</param>
    /// <param name="code">Makes the coded bodies; null for <see cref="BodyCoder"/>.</param>
    /// <param name="refused">Called on the compressor's thread with coded files that must not be sent.</param>
    /// <param name="dictionaries">Makes the pass that codes with dictionaries, given what to call with errors; null for none.</param>
    public static BackgroundCompressor Start(
        AssetCatalog catalog,
        SiteOptions options,
        Action<Exception> failed,
        Action? succeeded = null,
        EncodeBody? code = null,
        Action<IReadOnlyList<Sibling>>? refused = null,
        Func<Action<Exception>, DictionaryPass>? dictionaries = null)
    {
        var compressor = new BackgroundCompressor(
            catalog, options, failed, succeeded, code ?? BodyCoder.TryCode, refused ?? (static _ => { }), dictionaries);
        catalog.Changed += compressor.OnChanged;
        catalog.Freed += compressor.OnFreed;
        compressor._thread.Start();
        return compressor;
    }

    /// <summary>Waits for the piece being compressed: some ten milliseconds, rarely more than a hundred.</summary>
    public void Dispose()
    {
        _catalog.Changed -= OnChanged;
        _catalog.Freed -= OnFreed;
        _stop.Cancel();
        OnChanged();
        _thread.Join();
        _timer.Dispose();
        _stop.Dispose();
    }

    private void OnChanged() => Signal(ref _hasChanged);

    private void OnFreed() => Signal(ref _hasFreed);

    private void Signal(ref bool flag)
    {
        lock (_monitor)
        {
            flag = true;
            Monitor.Pulse(_monitor);
        }
    }

    private void Run()
    {
        _ = ThreadCalls.SetNiceness(Niceness);
        PassOutcome outcome = PassOutcome.Complete;
        while (outcome != PassOutcome.Stopped)
        {
            WaitForWork(isShortOfMemory: outcome == PassOutcome.NoRoom || _dictionaries is { IsShortOfMemory: true });
            _isWorking = true;
            outcome = _stop.IsCancellationRequested ? PassOutcome.Stopped : RunPass();
            _isWorking = false;
        }
    }

    private EncodeBody Measured(EncodeBody code) =>
        (ReadOnlySpan<byte> body, ContentCoding coding, CancellationToken stop, out byte[] coded) =>
        {
            bool isCoded = code(body, coding, stop, out coded);
            MeasureTime();
            return isCoded;
        };

    private void MeasureTime() => Volatile.Write(ref _ranMicroseconds, ThreadCalls.GetUsage().RanMicroseconds);

    private PassOutcome RunPass()
    {
        _hasFailed = false;
        try
        {
            _siblings.RunSmall(_stop.Token);
            MeasureTime();
            PassOutcome outcome = _pass.Run(_stop.Token);
            if (outcome is PassOutcome.Complete or PassOutcome.NoRoom)
            {
                _siblings.RunLarge(_stop.Token);
                MeasureTime();
                RunDictionaries();
            }

            WakeAfter(Shorter(_siblings.NextDue, _pass.NextDue), _dictionaries?.NextDue);
            if (outcome is PassOutcome.Complete or PassOutcome.NoRoom)
            {
                _catalog.FreeReplaced();
            }

            if (outcome == PassOutcome.Complete && !_hasFailed)
            {
                _succeeded?.Invoke();
            }

            return outcome;
        }
#pragma warning disable CA1031 // It is reported, and must not end the thread: the next change may be compressed.
        catch (Exception error)
#pragma warning restore CA1031
        {
            Fail(error);
            return _stop.IsCancellationRequested ? PassOutcome.Stopped : PassOutcome.Complete;
        }
    }

    /// <summary>Begins another pass after the shorter time.</summary>
    private void WakeAfter(TimeSpan? left, TimeSpan? right)
    {
        if (Shorter(left, right) is TimeSpan time)
        {
            _ = _timer.Change(time, Timeout.InfiniteTimeSpan);
        }
    }

    private static TimeSpan? Shorter(TimeSpan? left, TimeSpan? right) => left < right ? left : right ?? left;

    private void RunDictionaries()
    {
        if (_dictionaries is null)
        {
            return;
        }

        long before = ThreadCalls.GetUsage().RanMicroseconds;
        _dictionaries.Run(_stop.Token);
        long after = ThreadCalls.GetUsage().RanMicroseconds;
        Volatile.Write(ref _dictionaryMicroseconds, _dictionaryMicroseconds + after - before);
        Volatile.Write(ref _ranMicroseconds, after);
    }

    private void Fail(Exception error)
    {
        _hasFailed = true;
        _failed(error);
    }

    /// <summary>Waits for work. A signal during a pass starts the next one.</summary>
    private void WaitForWork(bool isShortOfMemory)
    {
        lock (_monitor)
        {
            while (!_hasChanged && !(isShortOfMemory && _hasFreed))
            {
                Monitor.Wait(_monitor);
            }

            _hasChanged = _hasFreed = false;
        }
    }
}
