using Millrace.Interop.Threads;
using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Compression;

/// <summary>
/// Compresses a site while it is served, on one thread that gets what the others leave: no request ever waits for a coding. Begins anew
/// with each change of the site, with what is new. Dispose it before its catalogue.
/// </summary>
internal sealed class BackgroundCompressor : IDisposable
{
    /// <summary>The nicest there is, a seventieth of a reactor's share where both want the same processor.</summary>
    private const int Niceness = 19;

    private readonly AssetCatalog _catalog;
    private readonly CompressionPass _pass;
    private readonly Action<Exception> _failed;
    private readonly CancellationTokenSource _stop = new();
    private readonly AutoResetEvent _changed = new(initialState: true);
    private readonly Thread _thread;
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
        compressor._thread.Start();
        return compressor;
    }

    /// <summary>Waits for the piece that is being coded: some ten milliseconds, rarely more than a hundred.</summary>
    public void Dispose()
    {
        _catalog.Changed -= OnChanged;
        _stop.Cancel();
        _changed.Set();
        _thread.Join();
        _changed.Dispose();
        _stop.Dispose();
    }

    private void OnChanged() => _changed.Set();

    private void Run()
    {
        _ = ThreadCalls.SetNiceness(Niceness);
        try
        {
            // A change during a pass has set the event: the next wait is none.
            do
            {
                _isWorking = false;
                _changed.WaitOne();
                _isWorking = true;
            }
            while (_pass.Run(_stop.Token) != PassOutcome.Stopped);
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
}
