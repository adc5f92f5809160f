using Millrace.Interop.Threads;
using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Compression;

/// <summary>
/// Compresses a site while it is served, on one thread that gets what the others leave: no request ever waits for a coding. Begins anew
/// with each change of the site, with what is new; and where memory was short, when some is given back: whoever is slow may hold variants
/// of before for long. Dispose it before its catalogue.
/// </summary>
internal sealed class BackgroundCompressor : IDisposable
{
    /// <summary>The nicest there is, a seventieth of a reactor's share where both want the same processor.</summary>
    private const int Niceness = 19;

    private readonly AssetCatalog _catalog;
    private readonly CompressionPass _pass;
    private readonly Action<Exception> _failed;
    private readonly CancellationTokenSource _stop = new();
    private readonly Thread _thread;

    /// <summary>
    /// For what it waits for. A monitor needs no disposal: a change or a release that began before the end may tell of itself behind it.
    /// </summary>
    private readonly object _gate = new();
    private bool _hasChanged = true;
    private bool _hasFreed;
    private volatile bool _isWorking;

    private BackgroundCompressor(AssetCatalog catalog, SiteOptions options, Action<Exception> failed)
    {
        _catalog = catalog;
        _pass = new CompressionPass(catalog, options.CompressedBytesTotalMax);
        _failed = failed;
        _thread = new Thread(Run) { IsBackground = true, Name = "millrace-compress" };
    }

    /// <summary>Whether it codes something, or looks for it. Any thread.</summary>
    public bool IsWorking => _isWorking;

    /// <param name="catalog">The site. With <see cref="SiteOptions.Compression"/> off there is nothing to do in it.</param>
    /// <param name="options">The catalogue's own.</param>
    /// <param name="failed">
    /// Is told what nobody expected, on the compressor's thread, which then ends: the site is served on as it is.
    /// </param>
    public static BackgroundCompressor Start(AssetCatalog catalog, SiteOptions options, Action<Exception> failed)
    {
        var compressor = new BackgroundCompressor(catalog, options, failed);
        catalog.Changed += compressor.OnChanged;
        catalog.Freed += compressor.OnFreed;
        compressor._thread.Start();
        return compressor;
    }

    /// <summary>Waits for the piece that is being coded: some ten milliseconds, rarely more than a hundred.</summary>
    public void Dispose()
    {
        _catalog.Changed -= OnChanged;
        _catalog.Freed -= OnFreed;
        _stop.Cancel();
        OnChanged();
        _thread.Join();
        _stop.Dispose();
    }

    private void OnChanged() => Tell(ref _hasChanged);

    private void OnFreed() => Tell(ref _hasFreed);

    private void Tell(ref bool what)
    {
        lock (_gate)
        {
            what = true;
            Monitor.Pulse(_gate);
        }
    }

    private void Run()
    {
        _ = ThreadCalls.SetNiceness(Niceness);
        try
        {
            PassOutcome outcome = PassOutcome.Complete;
            while (outcome != PassOutcome.Stopped)
            {
                Await(mayGoOn: outcome == PassOutcome.NoRoom);
                _isWorking = true;
                outcome = _pass.Run(_stop.Token);
                _isWorking = false;
            }
        }
        catch (Exception error)
        {
            _failed(error);
        }
        finally
        {
            _isWorking = false;
        }
    }

    /// <summary>What was told during a pass counts for the next.</summary>
    /// <param name="mayGoOn">Whether memory is what it lacks.</param>
    private void Await(bool mayGoOn)
    {
        lock (_gate)
        {
            while (!_hasChanged && !(mayGoOn && _hasFreed))
            {
                Monitor.Wait(_gate);
            }

            _hasChanged = _hasFreed = false;
        }
    }
}
