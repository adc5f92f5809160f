namespace Millrace.Server.Configuration.Settings;

/// <summary>
/// A flag with an optional value. The parser does not support these: it would take the next argument as the value, so that <c>--spa
/// ./public</c> took the folder. The value follows after '=' (<c>--spa=/app.html</c>), or after a space if it cannot be a folder
/// (<c>--compress off</c>).
/// </summary>
/// <param name="Name">The name, with dashes.</param>
/// <param name="Value">The value if none is given.</param>
/// <param name="IsSurelyValue">Whether the next argument can only be the flag's value.</param>
internal sealed record ValuelessFlag(string Name, string Value, Func<string, bool> IsSurelyValue)
{
    /// <summary>Adds the value to each of these flags, so that the parser does not look for one.</summary>
    public static string[] Complete(string[] arguments, IReadOnlyCollection<ValuelessFlag> flags)
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
