using Millrace.Tls;

namespace Millrace.AspNetCore.Https;

/// <summary>
/// Reloads a terminator's certificates when one of their files has changed. It polls, as the files may be links to links, which are swapped
/// without an event in their own directory. If the new files cannot be loaded, the current certificates stay in use until the next change.
/// The timer's thread.
/// </summary>
internal sealed class CertificateWatch : IDisposable
{
    /// <summary>The longest period that a timer accepts.</summary>
    private static readonly TimeSpan LongestWait = TimeSpan.FromMilliseconds(uint.MaxValue - 1);

    private readonly CertificateFiles[] _files;
    private readonly TlsTerminator _terminator;
    private readonly Lock _lock = new();
    private readonly Timer _timer;
    private string _seen;
    private bool _isDisposed;

    public CertificateWatch(CertificateFiles[] files, TlsTerminator terminator, TimeSpan interval)
    {
        _files = files;
        _terminator = terminator;
        _seen = ReadStates();
        // A timer's longest period, seven weeks, stands for anything longer.
        TimeSpan wait = interval < LongestWait ? interval : LongestWait;
        _timer = new Timer(static watch => ((CertificateWatch)watch!).ReloadIfChanged(), this, wait, wait);
    }

    public void Dispose()
    {
        // Waits for a reload that is running: the terminator is disposed of next.
        lock (_lock)
        {
            _isDisposed = true;
        }

        _timer.Dispose();
    }

    private void ReloadIfChanged()
    {
        lock (_lock)
        {
            string now = ReadStates();
            if (!_isDisposed && now != _seen)
            {
                _seen = now;
                _terminator.TryReload();
            }
        }
    }

    private string ReadStates() => string.Join('\n', _files.SelectMany(static one => new[] { one.Certificate, one.Key }).Select(StateOf));

    private static string StateOf(string path)
    {
        try
        {
            var file = new FileInfo(path);
            FileInfo target = file.ResolveLinkTarget(returnFinalTarget: true) as FileInfo ?? file;
            return target.Exists ? $"{target.FullName} {target.Length} {target.LastWriteTimeUtc.Ticks}" : "";
        }
        catch (Exception refusal) when (refusal is IOException or UnauthorizedAccessException)
        {
            return refusal.Message;
        }
    }
}
