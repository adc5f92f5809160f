namespace Millrace.Server.Terminal;

/// <summary>What the program cannot do, on stderr in a line that begins with its name.</summary>
internal static class ErrorLine
{
    public static void Print(string text) => Console.Error.WriteLine($"millrace: {text}");

    /// <summary>The same, for what ends the process.</summary>
    public static int Print(string text, int exitCode)
    {
        Print(text);
        return exitCode;
    }
}
