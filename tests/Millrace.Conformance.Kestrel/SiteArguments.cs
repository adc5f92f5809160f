using Millrace.Server.Configuration;
using Millrace.Server.Configuration.Rows;
using Millrace.StaticFiles;

namespace Millrace.Conformance.Kestrel;

/// <summary>
/// Reads flags of a site as the command line does: a value stands after '=', or after a space where the flag needs one.
/// </summary>
internal static class SiteArguments
{
    public static SiteOptions Read(SiteOptions options, ReadOnlySpan<string> arguments)
    {
        for (int i = 0; i < arguments.Length; i++)
        {
            string[] parts = arguments[i].Split('=', 2);
            ServerOption row = SiteRows.All.FirstOrDefault(row => row.Flag == parts[0])
                ?? throw new SiteException($"{parts[0]} is no option of a site.");
            string? value = parts.Length == 2 ? parts[1] : null;
            if (value is null && i + 1 < arguments.Length && IsValue(row, arguments[i + 1]))
            {
                value = arguments[++i];
            }

            value ??= row.BareValue ?? throw new SiteException($"{row.Flag} has no value.");
            options = row.Apply(new ServeOptions { Site = options }, value).Site;
        }

        return options;
    }

    private static bool IsValue(ServerOption row, string next) => row switch
    {
        { BareValue: null } => true,
        { Kind: OptionValueKind.Switch } => next is "on" or "off",
        _ => !next.StartsWith("--", StringComparison.Ordinal),
    };
}
