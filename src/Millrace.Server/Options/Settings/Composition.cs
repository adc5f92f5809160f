using Millrace.Server.Options.Files;
using Millrace.Server.Options.Rows;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Rules;

namespace Millrace.Server.Options.Settings;

/// <summary>Makes options of what all sources say: flags have the last word, then the environment, then the file.</summary>
internal static class Composition
{
    /// <summary>The options, which mean nothing if there are complaints.</summary>
    /// <param name="flags">What the command line says.</param>
    /// <param name="variables">What the environment says.</param>
    /// <param name="file">What the file says.</param>
    /// <param name="complaints">What is wrong is added.</param>
    /// <param name="started">What a running server was started with; null for one that starts.</param>
    public static ServeOptions Compose(
        SettingSet flags, SettingSet variables, FileSettings file, ICollection<Complaint> complaints, ServeOptions? started = null)
    {
        SettingSet above = flags.Over(variables);
        SettingSet settings = above.Over(file.Shared);
        int complaintsBefore = complaints.Count;
        ServeOptions options = Apply(new ServeOptions { Told = settings }, settings, OptionTable.All, complaints);
        options = options.Handed.ApplyTo(options, (started ?? options).Admin.Address);
        if (complaints.Count == complaintsBefore)
        {
            // Where a value is wrong it is missing, and what it goes together with is not known.
            foreach (Action<ServeOptions, SettingSet, ICollection<Complaint>> check in OptionTable.Checks)
            {
                check(options, settings, complaints);
            }
        }

        return ShareOut(options with
        {
            Addresses = options.Addresses.Count + options.Https.Addresses.Count > 0 ? options.Addresses : [ListenRows.DefaultEndPoint],
            Site = options.Https.ApplyTo(options.Site),
            Hosts = [.. options.Hosts.Select(host => ComposeHost(host, options, above, file, complaints))],
        });
    }

    /// <summary>What is left to the server of memory and descriptors is the process's: each site has an equal share of it.</summary>
    private static ServeOptions ShareOut(ServeOptions options)
    {
        int sites = options.Sites.Count;
        return sites == 1 ? options : options with
        {
            Site = Share(options.Site),
            Hosts = [.. options.Hosts.Select(host => host with { Site = Share(host.Site) })],
        };

        SiteOptions Share(SiteOptions site) => site with
        {
            BakedBytesTotalMax = site.BakedBytesTotalMax ?? (site.ResolveBakedBytesTotalMax() / sites),
            DescriptorsMax = site.DescriptorsMax ?? (site.ResolveDescriptorsMax() / sites),
        };
    }

    /// <summary>What the file says of the host itself goes before what it says of all sites.</summary>
    private static HostedSite ComposeHost(
        HostedSite host, ServeOptions options, SettingSet above, FileSettings file, ICollection<Complaint> complaints)
    {
        SettingSet settings = options.Told;
        bool isOfFile = settings.Find(OptionTable.Get(ListenRows.Host))?.Origin.Source == SettingSource.File;
        if (isOfFile && file.Hosts.TryGetValue(host.Name, out SettingSet? own))
        {
            settings = above.Over(own).Over(file.Shared);
        }

        IEnumerable<ServerOption> rows = OptionTable.All.Where(static option => option.Scope == OptionScope.Site);
        SiteOptions site = Apply(new ServeOptions { Site = host.Site }, settings, rows, complaints).Site;
        return host with { Site = options.Https.ApplyTo(site), Told = settings };
    }

    /// <summary>In the order of the table, whatever order things were said in.</summary>
    private static ServeOptions Apply(
        ServeOptions options, SettingSet settings, IEnumerable<ServerOption> rows, ICollection<Complaint> complaints)
    {
        foreach (Setting setting in rows.Select(settings.Find).OfType<Setting>())
        {
            foreach (SettingValue value in setting.Values)
            {
                if (setting.Option.TryApply(options, value.Text, out ServeOptions? applied, out RuleProblem? problem))
                {
                    options = applied;
                }
                else
                {
                    complaints.Add(Complaint.About(setting.Option, value.Origin, problem));
                }
            }
        }

        return options;
    }
}
