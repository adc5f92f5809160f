using System.CommandLine;
using Millrace.Server.Configuration.Rows;

namespace Millrace.Server.Configuration;

/// <summary>
/// The flags of the commands that take a configuration, which share them: all of <see cref="OptionTable"/>, the file and the port. Values
/// are checked later, together with those of all sources.
/// </summary>
internal sealed class OptionFlags
{
    private readonly List<(ServerOption Row, Option<string[]> Flag)> _flags =
        [.. OptionTable.All.Where(static row => row.Argument is null).Select(static row => (row, FlagOf(row)))];

    private readonly Option<string?> _file = new("--config")
    {
        Description = "Read options from a JSON file. Flags override environment variables "
            + $"({ServerOption.VariablePrefix}OPTION=VALUE), which override the file.",
        HelpName = "FILE",
    };

    private readonly Option<string?> _port = new("--port", "-p")
    {
        Description = "Serve HTTP on this port, for this machine only: --listen localhost:N.",
        HelpName = "N",
    };

    public OptionFlags() =>
        _port.Validators.Add(static result =>
        {
            if (result.Tokens is [{ Value: var text }] && !ListenAddress.TryParsePort(text, out _))
            {
                result.AddError($"--port: '{text}' is not a port. Use a number from 0 to 65535, or --listen for an address.");
            }
        });

    public void AddTo(Command command)
    {
        command.Options.Add(_file);
        command.Options.Add(_port);
        _flags.ForEach(flag => command.Options.Add(flag.Flag));
    }

    public bool HasFile(ParseResult parsed) => parsed.GetValue(_file) is not null;

    public ServerConfiguration Read(ParseResult parsed, string? file, params IEnumerable<string> roots)
    {
        IEnumerable<Setting> settings = _flags.Select(flag => SettingOf(flag.Row, TextsOf(flag.Row, flag.Flag)))
            .Append(SettingOf(OptionTable.Get("root"), roots));
        return new ServerConfiguration(
            new SettingSet(settings.Where(static setting => setting.Values.Count > 0)), parsed.GetValue(_file) ?? file);

        IEnumerable<string> TextsOf(ServerOption row, Option<string[]> flag)
        {
            string[] texts = parsed.GetValue(flag) ?? [];
            return row.Key == ListenRows.Listen && parsed.GetValue(_port) is { } port ? texts.Append($"localhost:{port}") : texts;
        }
    }

    public static Setting SettingOf(ServerOption option, params IEnumerable<string> texts) =>
        new(option, SettingOrigin.Flag, [.. texts.Select(static text => new SettingValue(text, SettingOrigin.Flag))]);

    /// <summary>
    /// Adds the value to each flag that stands alone and has an optional one. The parser would take the next argument as the value, so that
    /// <c>--spa ./public</c> took the folder: a value follows after '=' (<c>--spa=/app.html</c>), or after a space if it cannot be a folder
    /// (<c>--compress off</c>, <c>--spa /app.html</c>).
    /// </summary>
    public static string[] Complete(string[] arguments)
    {
        int literal = Array.IndexOf(arguments, "--");
        int end = literal < 0 ? arguments.Length : literal;
        var completed = new List<string>();
        for (int i = 0; i < end; i++)
        {
            string argument = arguments[i];
            if (OptionTable.All.FirstOrDefault(row => row.BareValue is not null && row.Flag == argument) is { } row)
            {
                bool hasValue = i + 1 < end && IsSurelyValue(row.Kind, arguments[i + 1]);
                argument = $"{argument}={(hasValue ? arguments[++i] : row.BareValue)}";
            }

            completed.Add(argument);
        }

        return [.. completed, .. arguments[end..]];
    }

    /// <summary>Whether the argument after a flag with an optional value is that value, not a folder.</summary>
    private static bool IsSurelyValue(OptionValueKind kind, string text) => kind switch
    {
        OptionValueKind.Switch => text is "on" or "off",
        OptionValueKind.List => text == "*" || text.Contains("://", StringComparison.Ordinal),
        OptionValueKind.Address => ListenAddress.TryParse(text, out _),
        OptionValueKind.Seconds => text.Length > 0 && text.All(char.IsAsciiDigit),
        OptionValueKind.UrlPath => text.StartsWith('/') && Path.GetExtension(text) is ".html" or ".htm",
        _ => false,
    };

    private static Option<string[]> FlagOf(ServerOption row) => new(row.Flag, row.ShortFlag is null ? [] : [row.ShortFlag])
    {
        Arity = row.Occurrence == OptionOccurrence.Repeatable ? ArgumentArity.OneOrMore : ArgumentArity.ExactlyOne,
        AllowMultipleArgumentsPerToken = false,

        // A single value is a list of one.
        CustomParser = static result => [.. result.Tokens.Select(static token => token.Value)],
    };
}
