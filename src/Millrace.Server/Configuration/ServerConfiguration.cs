using Millrace.Server.Configuration.Files;
using Millrace.Server.Configuration.Settings;
using Millrace.Server.Terminal;

namespace Millrace.Server.Configuration;

/// <summary>Reads this process's configuration: flags and environment variables, which do not change, and the file, on each read.</summary>
/// <param name="flags">The settings of the command line.</param>
/// <param name="path">The file; null if none is named. There is no default file.</param>
internal sealed class ServerConfiguration(SettingSet flags, string? path)
{
    /// <summary>The file, which an environment variable may name too.</summary>
    public string? Path { get; } =
        path ?? (Environment.GetEnvironmentVariable(VariableSettings.File) is { Length: > 0 } configured ? configured : null);

    /// <summary>Reads the current options; null, with errors, if something is wrong.</summary>
    /// <param name="errors">The errors.</param>
    /// <param name="started">The options that a running server was started with.</param>
    public ServeOptions? Read(out IReadOnlyList<OptionError> errors, ServeOptions? started = null)
    {
        var found = new List<OptionError>();
        SettingSet variables = VariableSettings.Read(Environment.GetEnvironmentVariables(), found);
        FileSettings file = Path is null ? FileSettings.Empty : ConfigurationFile.Read(Path, found);
        ServeOptions options = MergedOptions.Merge(flags, variables, file, found, started);

        // Options of all sites are applied to each site, which repeats their errors.
        errors = [.. found.Distinct()];
        return errors.Count == 0 ? options : null;
    }

    /// <summary>Reads the current options, or prints the errors on stderr and returns null.</summary>
    public ServeOptions? ReadOrPrintErrors()
    {
        ServeOptions? options = Read(out IReadOnlyList<OptionError> errors);
        foreach (OptionError error in errors)
        {
            ErrorLine.Print(error.ToString());
        }

        return options;
    }
}
