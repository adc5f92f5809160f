using Millrace.Tls;

namespace Millrace.AspNetCore.Https;

/// <summary>
/// Has a terminator read its certificates anew when one of their files has become another. It looks, as the files may be links to links,
/// which are swapped without any event where they stand. What is not to be had leaves those in use, and is tried again when it has changed.
/// </summary>
internal sealed class CertificateWatch : IDisposable
{
    private readonly CertificateFiles[] _files;
    private readonly TlsTerminator _terminator;
    private readonly Lock _looking = new();
    private readonly Timer _timer;
    private string _seen;
    private bool _isDisposed;

    public CertificateWatch(CertificateFiles[] files, TlsTerminator terminator, TimeSpan interval)
    {
        _files = files;
        _terminator = terminator;
        _seen = Look();
        _timer = new Timer(static watch => ((CertificateWatch)watch!).ReloadIfChanged(), this, interval, interval);
    }

    public void Dispose()
    {
        // Whoever is reading anew is waited for: the terminator goes next.
        lock (_looking)
        {
            _isDisposed = true;
        }

        _timer.Dispose();
    }

    private void ReloadIfChanged()
    {
        lock (_looking)
        {
            string now = Look();
            if (!_isDisposed && now != _seen)
            {
                _seen = now;
                _terminator.TryReload();
            }
        }
    }

    private string Look() => string.Join('\n', _files.SelectMany(static one => new[] { one.Certificate, one.Key }).Select(StateOf));

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
