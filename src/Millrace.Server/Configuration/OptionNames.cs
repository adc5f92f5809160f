using System.Buffers;
using System.Text;

namespace Millrace.Server.Configuration;

/// <summary>
/// Names options in messages as the operator writes them. The libraries' messages name flags, and properties for applications: here a
/// flag gets the name that the option has in the source that sets it, and properties are left out. Immutable; any thread.
/// </summary>
internal sealed class OptionNames(ServeOptions options)
{
    private const string InCode = " in code";

    private static readonly SearchValues<char> OfFlags = SearchValues.Create("-abcdefghijklmnopqrstuvwxyz0123456789");

    /// <summary>The source that the operator would add an option to.</summary>
    private readonly SettingOrigin _usual = UsualOf(options.Configured);

    /// <summary>The names in messages of this process, whose options are read once before anything is logged. Flags until then.</summary>
    public static OptionNames OfProcess { get; set; } = new(new ServeOptions());

    /// <summary>A message with the names of options in their own sources.</summary>
    public string In(string message) => In(message, NameOf);

    /// <summary>
    /// A message with other names for its flags. A flag after a quote stays: it is part of a command line, or of a file's name.
    /// </summary>
    public static string In(string message, Func<ServerOption, string> nameOf)
    {
        int at = message.IndexOf("--", StringComparison.Ordinal);
        if (at < 0)
        {
            return message;
        }

        var text = new StringBuilder();
        int copied = 0;
        for (; at >= 0; at = message.IndexOf("--", at + 1, StringComparison.Ordinal))
        {
            int length = message.AsSpan(at).IndexOfAnyExcept(OfFlags);
            int end = length < 0 ? message.Length : at + length;

            bool isWord = at == 0 || message[at - 1] is ' ' or '(';
            if (isWord && OptionTable.All.FirstOrDefault(row => row.Argument is null && message.AsSpan()[at..end].SequenceEqual(row.Flag))
                is { } option)
            {
                text.Append(message, copied, at - copied).Append(nameOf(option));
                copied = PropertyEnd(message, end);
                at = copied - 1;
            }
        }

        return text.Append(message, copied, message.Length - copied).ToString();
    }

    private string NameOf(ServerOption option)
    {
        IEnumerable<SettingSet> sources = options.Hosts.Select(static host => host.Configured).Prepend(options.Configured);
        return (sources.Select(settings => settings.Find(option.Key)?.Origin).FirstOrDefault(static origin => origin is not null) ?? _usual)
            .NameOf(option);
    }

    /// <summary>The file, if there is one; else the environment, if no flag is used. The root says nothing.</summary>
    private static SettingOrigin UsualOf(SettingSet configured)
    {
        SettingOrigin[] origins =
            [.. configured.All.Where(static setting => setting.Option.Argument is null).Select(static setting => setting.Origin)];
        return origins.FirstOrDefault(static origin => origin.Source == SettingSource.File)
            ?? (origins.Any(static origin => origin.Source == SettingSource.Flag) ? SettingOrigin.Flag
                : origins.FirstOrDefault() ?? SettingOrigin.Flag);
    }

    /// <summary>The end of <c>; Property in code</c>, if that follows.</summary>
    private static int PropertyEnd(string message, int at)
    {
        int end = message.IndexOf(InCode, at, StringComparison.Ordinal);
        return end > at + 2 && message.AsSpan(at).StartsWith("; ", StringComparison.Ordinal)
            && message.AsSpan()[(at + 2)..end].IndexOfAny(" ,:)") < 0
            ? end + InCode.Length
            : at;
    }
}
