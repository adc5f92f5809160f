using System.CommandLine;
using System.CommandLine.Parsing;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Options;
using Millrace.StaticFiles.Rules;

namespace Millrace.Server;

/// <summary>
/// The flags of a site, made from <see cref="SiteOptionTable"/>. A flag that may stand alone takes its value behind '='
/// (<c>--spa=/app.html</c>): otherwise <c>--spa ./public</c> would take the folder for it. What cannot be meant as a folder
/// may stand behind a space too: <c>--compress off</c>.
/// </summary>
internal sealed class SiteFlags
{
    /// <summary>What a text is tried on; the root itself is no flag.</summary>
    private static readonly SiteOptions Blank = new() { Root = "." };

    private readonly List<(SiteOption Row, Option<string[]> Flag)> _flags = [.. SiteOptionTable.All.Select(row => (row, FlagOf(row)))];

    public IEnumerable<Option> Options => _flags.Select(static flag => flag.Flag);

    /// <summary>Writes out the value of each flag that may stand alone, so that the parser does not look for one behind it.</summary>
    public static string[] Complete(string[] arguments)
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

            SiteOption? row = SiteOptionTable.All.FirstOrDefault(row => row.Flag == argument);
            if (row?.BareValue is not string bare)
            {
                completed.Add(argument);
            }
            else if (i + 1 < arguments.Length && IsSurelyValue(row, arguments[i + 1]))
            {
                completed.Add($"{argument}={arguments[++i]}");
            }
            else
            {
                completed.Add($"{argument}={bare}");
            }
        }

        return [.. completed];
    }

    /// <summary>The options that the command line asked for.</summary>
    public SiteOptions Read(ParseResult parsed, string root)
    {
        SiteOptions options = Blank with { Root = root };
        foreach ((SiteOption row, Option<string[]> flag) in _flags)
        {
            foreach (string text in parsed.GetValue(flag) ?? [])
            {
                options = row.TryApply(options, text, out SiteOptions? applied, out RuleProblem? problem)
                    ? applied
                    : throw new SiteException(problem.Cause, problem.Remedy);
            }
        }

        return options;
    }

    /// <summary>Whether what follows such a flag is its value and no folder.</summary>
    private static bool IsSurelyValue(SiteOption row, string text) => row.Kind switch
    {
        OptionValueKind.Switch => text is "on" or "off",
        OptionValueKind.List => text == "*" || text.Contains("://", StringComparison.Ordinal),
        _ => false,
    };

    private static Option<string[]> FlagOf(SiteOption row)
    {
        var flag = new Option<string[]>(row.Flag)
        {
            Description = DescriptionOf(row),
            HelpName = row.ValueForm,
            Arity = row.Occurrence == OptionOccurrence.Repeatable ? ArgumentArity.OneOrMore : ArgumentArity.ExactlyOne,
            AllowMultipleArgumentsPerToken = false,

            // One value is a list of one too.
            CustomParser = static result => [.. result.Tokens.Select(static token => token.Value)],
        };
        flag.Validators.Add(result => Check(row, result));
        return flag;
    }

    private static string DescriptionOf(SiteOption row)
    {
        string help = row.Help;
        help += row.BareValue is not string bare || row.Kind == OptionValueKind.Switch ? ""
            : $" {row.Flag} alone is {row.Flag}={bare}; another value stands behind '='.";
        help += row.Occurrence == OptionOccurrence.Repeatable ? " May be repeated." : "";
        return help + (row.Default.Length == 0 ? "" : $" [default: {row.Default}]");
    }

    private static void Check(SiteOption row, OptionResult result)
    {
        foreach (Token token in result.Tokens)
        {
            if (!row.TryApply(Blank, token.Value, out _, out RuleProblem? problem))
            {
                result.AddError($"{problem.Cause} {problem.Remedy}");
            }
        }
    }
}
