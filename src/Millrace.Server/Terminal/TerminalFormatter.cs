using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;
using Microsoft.Extensions.Logging.Console;

namespace Millrace.Server.Terminal;

/// <summary>
/// The log on a terminal: "warning: text" or "error: text", one line each, without what is for programs. Stateless.
/// </summary>
internal sealed class TerminalFormatter() : ConsoleFormatter(FormatterName)
{
    public const string FormatterName = "millrace-terminal";

    public override void Write<TState>(in LogEntry<TState> logEntry, IExternalScopeProvider? scopeProvider, TextWriter textWriter) =>
        textWriter.WriteLine(Line(logEntry.LogLevel, logEntry.Formatter(logEntry.State, logEntry.Exception), logEntry.Exception));

    public static string Line(LogLevel level, string text, Exception? fault)
    {
        string word = level switch
        {
            LogLevel.Warning => "warning: ",
            LogLevel.Error or LogLevel.Critical => "error: ",
            _ => "",
        };
        return ErrorLine.Escaped($"{word}{text}{(fault is null ? "" : $" {fault}")}".ReplaceLineEndings(" "));
    }
}
