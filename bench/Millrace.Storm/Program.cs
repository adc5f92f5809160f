using System.Globalization;
using Millrace.Storm;
using Millrace.Storm.Judging;
using Millrace.Storm.Site;

CultureInfo.CurrentCulture = CultureInfo.InvariantCulture;
if (StormOptions.Parse(args) is not { } options)
{
    Console.Error.Write(StormOptions.Usage);
    return 2;
}

string folder = Path.Combine(Path.GetFullPath(options.Folder), $"storm-{Environment.ProcessId}");
try
{
    using var site = new SiteFolder(folder);
    using var server = new ServedSite(options.Server, site.Link);
    var tally = new Tally();
    var weather = new LoadScenario(options, site, server, new Verifier(site, tally, TimeSpan.FromMilliseconds(options.FreshMs)), tally);
    (int descriptors, double residentMb) = (server.Descriptors, server.ResidentMb);

    weather.Blow();

    if (!server.HasEnded)
    {
        Console.WriteLine($"memory: {residentMb:f1} MB before, {server.ResidentMb:f1} MB after; "
            + $"descriptors: {descriptors} before, {server.Descriptors} after");
    }

    return Summary.Print(tally, options);
}
finally
{
    if (Directory.Exists(folder))
    {
        Directory.Delete(folder, recursive: true);
    }
}
