using Millrace.Interop.Crypt;
using Millrace.Server.Configuration.Rows;
using Millrace.Server.Terminal;
using Millrace.StaticFiles;

namespace Millrace.Server.Configuration;

/// <summary>
/// Reads this process's configuration: flags and environment variables, which do not change, and the file, on each read. Flags override
/// environment variables, which override the file.
/// </summary>
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
        ServeOptions options = Merge(flags, variables, file, found, started);

        // Options of all sites are applied to each site, which repeats their errors.
        // Those of the file are in its order.
        errors =
        [
            .. found.Distinct().OrderBy(static error => error.Origin.Position?.Line ?? 0)
                .ThenBy(static error => error.Origin.Position?.Column ?? 0),
        ];
        return errors.Count == 0 ? options : null;
    }

    /// <summary>Reads the options for the life of the process, or prints what is wrong.</summary>
    public ServeOptions? ReadOrPrintErrors() => ReadOrPrintErrors(out _);

    /// <param name="exitCode">That of a start, if something is wrong.</param>
    public ServeOptions? ReadOrPrintErrors(out int exitCode)
    {
        ServeOptions? options = Read(out IReadOnlyList<OptionError> errors);
        foreach (OptionError error in errors)
        {
            ErrorLine.Print(error.ToString());
        }

        if (options is not null)
        {
            OptionNames.OfProcess = new OptionNames(options);
        }

        exitCode = errors.Count > 0 && errors.All(static error => error.IsHostRefusal) ? ExitCode.Refused : ExitCode.Usage;
        return options;
    }

    /// <summary>Merges the settings of all sources. The options are not valid if errors were added.</summary>
    public static ServeOptions Merge(
        SettingSet flags, SettingSet variables, FileSettings file, ICollection<OptionError> errors, ServeOptions? started = null)
    {
        SettingSet overrides = flags.Over(variables);
        SettingSet settings = overrides.Over(file.Shared);
        int errorsBefore = errors.Count;
        ServeOptions options = Apply(new ServeOptions { Configured = settings }, settings, OptionTable.All, errors);
        ServerOption root = OptionTable.Get("root");
        if (settings.Find(root.Key) is not { Values.Count: > 0 })
        {
            options = Apply(options, root, new SettingValue(root.Default, SettingOrigin.Flag), errors);
        }

        options = HttpsRows.ApplyDefaultAddress(options);
        options = options.Inherited.ApplyTo(options, (started ?? options).Admin.Address);
        if (options.Addresses.Count + options.Https.Addresses.Count == 0)
        {
            options = options with { Addresses = [ListenRows.DefaultEndPoint] };
        }

        options = options with
        {
            Site = options.Https.ApplyTo(options.Site),
            Hosts = [.. options.Hosts.Select(host => MergeHost(host, options, overrides, file, errors))],
        };
        if (errors.Count == errorsBefore)
        {
            // Skipped after an invalid value, which is missing, so that combinations with it cannot be checked.
            OptionChecks.Check(options, settings, errors, started);
        }

        options = DivideLimits(options);
        if (errors.Count == errorsBefore)
        {
            OpenSslNeeds.Check(options, settings, OpenSslPresence.Missing, errors);
        }

        return options;
    }

    /// <summary>Default limits of memory and descriptors are the process's: each site gets an equal share.</summary>
    private static ServeOptions DivideLimits(ServeOptions options)
    {
        int sites = options.Sites.Count;
        return sites == 1 ? options : options with
        {
            Site = Share(options.Site),
            Hosts = [.. options.Hosts.Select(host => host with { Site = Share(host.Site) })],
        };

        SiteOptions Share(SiteOptions site) => site with
        {
            CacheBytesMax = site.CacheBytesMax ?? (site.ResolveCacheBytesMax() / sites),
            DescriptorsMax = site.DescriptorsMax ?? (site.ResolveDescriptorsMax() / sites),
        };
    }

    /// <summary>A host's own settings in the file override those for all sites.</summary>
    private static HostedSite MergeHost(
        HostedSite host, ServeOptions options, SettingSet overrides, FileSettings file, ICollection<OptionError> errors)
    {
        SettingSet settings = options.Configured;
        bool isOfFile = settings.Find(ListenRows.Host)?.Origin.Source == SettingSource.File;
        if (isOfFile && file.Hosts.TryGetValue(host.Name, out SettingSet? own))
        {
            settings = overrides.Over(own).Over(file.Shared);
        }

        IEnumerable<ServerOption> rows = OptionTable.All.Where(static option => option.Scope == OptionScope.Site);
        SiteOptions site = Apply(new ServeOptions { Site = host.Site }, settings, rows, errors).Site;
        return host with { Site = options.Https.ApplyTo(site), Configured = settings };
    }

    private static ServeOptions Apply(
        ServeOptions options, SettingSet settings, IEnumerable<ServerOption> rows, ICollection<OptionError> errors)
    {
        foreach (Setting setting in rows.Select(row => settings.Find(row.Key)).OfType<Setting>())
        {
            foreach (SettingValue value in setting.Values)
            {
                options = Apply(options, setting.Option, value, errors);
            }
        }

        return options;
    }

    private static ServeOptions Apply(
        ServeOptions options, ServerOption option, SettingValue value, ICollection<OptionError> errors)
    {
        try
        {
            return option.Apply(options, StartDirectory.Locate(option, value.Text));
        }
        catch (SiteException refusal)
        {
            errors.Add(OptionError.About(option, value.Origin, refusal));
            return options;
        }
    }
}
