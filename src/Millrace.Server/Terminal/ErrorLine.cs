using System.ComponentModel;
using System.Text;
using Millrace.Engine;
using Millrace.Interop.Files;
using Millrace.Server.AccessLog;
using Millrace.Server.Configuration;
using Millrace.Server.Host;
using Millrace.StaticFiles;
using Millrace.Tls;

namespace Millrace.Server.Terminal;

/// <summary>Prints errors to stderr, each in one line that begins with the program's name, whatever names of files it holds.</summary>
internal static class ErrorLine
{
    private const int StandardError = 2;

    /// <summary>Options are named as the operator has set them.</summary>
    public static void Print(string text)
    {
        string line = $"millrace: {Escaped(OptionNames.OfProcess.In(text))}";
        try
        {
            Console.Error.WriteLine(line);
        }
        catch (Exception lacking) when (lacking is IOException or Win32Exception)
        {
            // The console opens descriptors of its own, and there may be none: that is what this line is about.
            _ = FileCalls.Write(StandardError, Encoding.UTF8.GetBytes(line + "\n"));
        }
    }

    public static int Print(string text, int exitCode)
    {
        Print(text);
        return exitCode;
    }

    public static string Escaped(string text) =>
        string.Concat(text.Select(static letter => char.IsControl(letter) ? $"\\x{(int)letter:x2}" : letter.ToString()));
}

/// <summary>Exit codes of the process, on which scripts rely.</summary>
internal static class ExitCode
{
    /// <summary>
    /// The code for a start that failed: whether an option or a file that the operator wrote is wrong, or the host refuses something.
    /// </summary>
    public static int Of(Exception refusal) => refusal switch
    {
        SiteException { IsMistake: true } or TlsException { IsMistake: true } or EngineException { IsMistake: true }
            or AccessLogException { IsMistake: true } or ServiceException { IsMistake: true } => Usage,
        _ => Refused,
    };

    public const int Done = 0;

    /// <summary>The host refused something: a permission, an address in use, io_uring forbidden.</summary>
    public const int Refused = 1;

    /// <summary>Invalid input: an unknown option, a bad address, a missing root.</summary>
    public const int Usage = 2;
}
