using System.Diagnostics;
using System.Globalization;

namespace Millrace.Server.Terminal;

/// <summary>A line on stderr with the elapsed time of a slow operation, only if stderr is a terminal. Disposal removes it.</summary>
internal sealed class WaitLine : IDisposable
{
    private const int DelayMs = 1_000;
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
            _timer = new Timer(_ => Draw(), null, DelayMs, PauseMs);
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
            // A timer callback may run during disposal.
            if (!_isOver)
            {
                _isDrawn = true;
                Console.Error.Write(ProgressLine.Clear + Text(_doing, Stopwatch.GetElapsedTime(_startedAt), TerminalFacts.Columns));
            }
        }
    }
}
