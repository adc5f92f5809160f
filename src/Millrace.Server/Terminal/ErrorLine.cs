namespace Millrace.Server.Terminal;

/// <summary>Prints errors to stderr, in lines that begin with the program's name.</summary>
internal static class ErrorLine
{
    public static void Print(string text) => Console.Error.WriteLine($"millrace: {text}");

    /// <summary>Prints an error, and returns the exit code.</summary>
    public static int Print(string text, int exitCode)
    {
        Print(text);
        return exitCode;
    }
}
