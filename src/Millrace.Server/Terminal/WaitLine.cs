using System.Diagnostics;
using System.Globalization;

namespace Millrace.Server.Terminal;

/// <summary>
/// A line on stderr that says for how long something has been under way, once that is longer than anybody expects, where stderr is a
/// terminal; elsewhere nothing. It is gone when this is disposed.
/// </summary>
internal sealed class WaitLine : IDisposable
{
    private const int PatienceMs = 1_000;
    private const int PauseMs = 200;

    private readonly Lock _drawing = new();
    private readonly string _doing;
    private readonly long _startedAt = Stopwatch.GetTimestamp();
    private readonly Timer? _timer;
    private bool _isDrawn;
    private bool _isOver;

    public WaitLine(string doing)
    {
        _doing = doing;
        if (TerminalFacts.IsInteractive(Console.IsErrorRedirected))
        {
            _timer = new Timer(_ => Draw(), null, PatienceMs, PauseMs);
        }
    }

    public void Dispose()
    {
        _timer?.Dispose();
        lock (_drawing)
        {
            _isOver = true;
            if (_isDrawn)
            {
                Console.Error.Write(ProgressLine.Clear);
            }
        }
    }

    /// <summary>The line, cut to the terminal's width.</summary>
    public static string Text(string doing, TimeSpan time, int columns) =>
        TerminalFacts.Cut(string.Create(CultureInfo.InvariantCulture, $"{doing} ({time.TotalSeconds:F0} s)"), columns);

    private void Draw()
    {
        lock (_drawing)
        {
            // A timer's last call may come when it is disposed of.
            if (!_isOver)
            {
                _isDrawn = true;
                Console.Error.Write(ProgressLine.Clear + Text(_doing, Stopwatch.GetElapsedTime(_startedAt), TerminalFacts.Columns));
            }
        }
    }
}
