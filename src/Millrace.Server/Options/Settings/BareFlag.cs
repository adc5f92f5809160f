namespace Millrace.Server.Options.Settings;

/// <summary>
/// A flag that may stand alone. The parser knows none: for it what follows would be the value, so that <c>--spa ./public</c> took the
/// folder. Its value stands behind '=' (<c>--spa=/app.html</c>), or behind a space where it cannot be meant as a folder
/// (<c>--compress off</c>).
/// </summary>
/// <param name="Name">With its dashes.</param>
/// <param name="Value">What it means when it stands alone.</param>
/// <param name="IsSurelyValue">Whether a text behind it can be nothing but its value.</param>
internal sealed record BareFlag(string Name, string Value, Func<string, bool> IsSurelyValue)
{
    /// <summary>Writes out the value of each of them, so that the parser does not look for one.</summary>
    public static string[] Complete(string[] arguments, IReadOnlyCollection<BareFlag> flags)
    {
        var completed = new List<string>();
        for (int i = 0; i < arguments.Length; i++)
        {
            string argument = arguments[i];
            if (argument == "--")
            {
                completed.AddRange(arguments[i..]);
                break;
            }

            if (flags.FirstOrDefault(flag => flag.Name == argument) is not { } bare)
            {
                completed.Add(argument);
            }
            else if (i + 1 < arguments.Length && bare.IsSurelyValue(arguments[i + 1]))
            {
                completed.Add($"{argument}={arguments[++i]}");
            }
            else
            {
                completed.Add($"{argument}={bare.Value}");
            }
        }

        return [.. completed];
    }
}
