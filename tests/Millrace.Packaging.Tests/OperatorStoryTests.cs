using System.Globalization;
using System.IO.Compression;
using System.Security.Cryptography.X509Certificates;
using System.Text.RegularExpressions;
using Millrace.Server.Tests.Kit;

namespace Millrace.Packaging.Tests;

/// <summary>
/// What docs/deployment.md tells who runs a server with the Debian package, done on a Debian with systemd. Its sections are followed word
/// by word.
/// </summary>
[Trait("Duration", "Long")]
public sealed partial class OperatorStoryTests
{
    private const string Unit = "millrace.service";

    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(30);

    /// <summary>Visitors are there from the first page over HTTPS until the package is taken away; none of their requests fails.</summary>
    [Fact]
    public async Task A_site_is_put_up_renewed_rotated_upgraded_and_taken_down_and_no_visitor_notices()
    {
        await using SystemdMachine machine = await SystemdMachine.BootAsync();
        string[] before = machine.List();
        await BringPackagesAsync(machine);
        string firstSerial = await MakeCertificateAsync(machine, SystemdMachine.ReactorState);
        string secondSerial = await MakeCertificateAsync(machine, SystemdMachine.ReactorState + "/renewed");
        (string, byte[])[] files = MakeSite(machine);

        await machine.FollowAsync("Debian");
        await machine.FollowAsync("HTTPS with the package");
        await using Visitors visitors = Visitors.Come(machine.Network, files);
        await visitors.MoreAsync();

        await machine.FollowAsync("A renewed certificate");
        await visitors.UntilAsync(() => visitors.Serials.Contains(secondSerial));
        await visitors.MoreAsync();

        // Twice: what the first renames, the second compresses.
        for (int rotation = 0; rotation < 2; rotation++)
        {
            await machine.FollowAsync("The log of the package");
            await visitors.UntilAsync(() => new FileInfo(machine.PathOf("/var/log/millrace/access.log")) is { Exists: true, Length: > 0 });
            await visitors.MoreAsync();
        }

        await machine.RunAsync("sed -i 's/\"redirect\": true/\"redirect\": true, \"hsts\": true/' /etc/millrace/millrace.json");
        string process = await machine.ShowAsync(Unit, "MainPID");
        await machine.FollowAsync("Changes and upgrades of the package");
        await visitors.MoreAsync();
        Assert.NotEqual(process, await machine.ShowAsync(Unit, "MainPID"));
        Assert.Equal("1.2.4-1", await machine.RunAsync("dpkg-query --show --showformat '${Version}' millrace"));
        Assert.Contains("strict-transport-security", await machine.RunAsync("curl -sIk https://127.0.0.1/"), StringComparison.Ordinal);
        Assert.DoesNotContain("deleted", await machine.RunAsync("readlink /proc/$(systemctl show --value -p MainPID millrace)/exe"),
            StringComparison.Ordinal);

        int[] answered = await visitors.LeaveAsync();
        Assert.Equal([firstSerial, secondSerial], visitors.Serials);
        Assert.Equal("0", await machine.ShowAsync(Unit, "NRestarts"));
        await machine.RunAsync("systemctl restart millrace");
        Assert.Equal(answered.Order(), LoggedVisits(machine).Order());

        await machine.FollowAsync("Remove the package");
        Assert.Equal(
            ["/etc/millrace", "/etc/millrace/fullchain.pem", "/etc/millrace/millrace.json", "/etc/millrace/privkey.pem"],
            machine.List().Except(before).Where(static path => !Operators().IsMatch(path)));
        Assert.False(Directory.Exists(machine.PathOf("/var/log/millrace")));
    }

    [Fact]
    public async Task A_server_that_hangs_is_started_again()
    {
        await using SystemdMachine machine = await SystemdMachine.BootAsync();
        await BringPackagesAsync(machine);
        MakeSite(machine);
        await machine.FollowAsync("Debian");
        await machine.RunAsync("""
            mkdir -p /etc/systemd/system/millrace.service.d
            printf '[Service]\nWatchdogSec=5s\n' >/etc/systemd/system/millrace.service.d/soon.conf
            systemctl daemon-reload
            systemctl restart millrace
            """);

        string process = (await machine.RunAsync("p=$(systemctl show --value -p MainPID millrace); kill -STOP $p; echo $p")).TrimEnd('\n');

        await machine.AwaitAsync($"journalctl --unit {Unit}", "Watchdog timeout");
        await machine.AwaitAsync("systemctl show -p ActiveState millrace", "ActiveState=active\n");
        Assert.NotEqual(process, await machine.ShowAsync(Unit, "MainPID"));
        Assert.StartsWith("HTTP/1.1 200", await machine.RunAsync("curl -sI http://127.0.0.1/"), StringComparison.Ordinal);
    }

    /// <summary>Two packages of the same program, one version after the other.</summary>
    private static async Task BringPackagesAsync(SystemdMachine machine)
    {
        await Publication.ReadyAsync();
        foreach ((string version, string place) in ((string, string)[])[("1.2.3-1", "packages"), ("1.2.4-1", "newer")])
        {
            using var folder = new TempFolder();
            string package = await DebianPackage.BuildAsync(folder, Publication.Program, version);
            string there = Directory.CreateDirectory(Path.Combine(machine.PathOf(SystemdMachine.ReactorState), place)).FullName;
            File.Copy(package, Path.Combine(there, Path.GetFileName(package)));
        }
    }

    private static (string Path, byte[] Content)[] MakeSite(SystemdMachine machine)
    {
        using var made = new TempFolder();
        (string, byte[])[] files =
        [
            ("/index.html", "<!doctype html><title>Mill</title>"u8.ToArray()),
            ("/small.bin", made.Add("small.bin", 3_000)),
            ("/large.bin", made.Add("large.bin", 3_000_000)),
        ];
        Directory.CreateDirectory(machine.PathOf("/srv/www"));
        foreach ((string path, byte[] content) in files)
        {
            File.WriteAllBytes(machine.PathOf("/srv/www" + path), content);
        }

        return files;
    }

    /// <summary>As an ACME client leaves it; its serial number.</summary>
    private static async Task<string> MakeCertificateAsync(SystemdMachine machine, string folder)
    {
        string place = Directory.CreateDirectory(machine.PathOf(folder)).FullName;
        string certificate = Path.Combine(place, "fullchain.pem");
        await Tool.RunToSuccessAsync(
            Deadline,
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "90", "-subj",
            "/CN=mill.test", "-addext", "subjectAltName=IP:127.0.0.1", "-out", certificate, "-keyout", Path.Combine(place, "privkey.pem"));
        using X509Certificate2 made = X509CertificateLoader.LoadCertificateFromFile(certificate);
        return made.SerialNumber;
    }

    /// <summary>The numbers of visits in all files of the log.</summary>
    private static IEnumerable<int> LoggedVisits(SystemdMachine machine)
    {
        string[] files = Directory.GetFiles(machine.PathOf("/var/log/millrace"));
        Assert.Equal(["access.log", "access.log.1", "access.log.2.gz"], files.Select(Path.GetFileName).Order(StringComparer.Ordinal));
        return files.SelectMany(Lines).Select(static line => Number().Match(line)).Where(static match => match.Success)
            .Select(static match => int.Parse(match.Groups["number"].Value, CultureInfo.InvariantCulture));
    }

    private static IEnumerable<string> Lines(string file)
    {
        using Stream stream = File.OpenRead(file);
        using var reader = new StreamReader(
            file.EndsWith(".gz", StringComparison.Ordinal) ? new GZipStream(stream, CompressionMode.Decompress) : stream);
        while (reader.ReadLine() is string line)
        {
            yield return line;
        }
    }

    /// <summary>Where the operator keeps what is not the package's.</summary>
    [GeneratedRegex("^/srv/")]
    private static partial Regex Operators();

    [GeneratedRegex(@"\?visit=(?<number>\d+) ")]
    private static partial Regex Number();
}
