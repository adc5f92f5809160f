using System.Collections.Concurrent;
using System.Net;

namespace Millrace.Conformance.Tests.Kit;

/// <summary>One run of the suite: its files, and the servers that were needed so far. Everything ends with it.</summary>
public sealed class Run : IAsyncLifetime
{
    private readonly ConcurrentDictionary<string, Lazy<Task<ServerProcess>>> _servers = new(StringComparer.Ordinal);
    private string? _temporary;

    internal static Run Current { get; private set; } = null!;

    internal Fixture Files { get; private set; } = null!;

    /// <summary>The servers' certificate, which is its own authority, and its key.</summary>
    internal string CertificateFile => Path.Combine(_temporary!, "certificate.pem");

    public ValueTask InitializeAsync()
    {
        if (Fronts.IsForeign && Fronts.TargetRoot is null)
        {
            throw new InvalidOperationException("MILLRACE_CONFORMANCE_ROOT is missing: the folder which the target serves.");
        }

        _temporary = Fronts.IsForeign ? null : Directory.CreateTempSubdirectory("millrace-conformance-").FullName;
        if (_temporary is not null)
        {
            File.WriteAllText(CertificateFile, OwnCertificate.Make());
        }

        Files = Fixture.Create(_temporary is null ? Fronts.TargetRoot! : Path.Combine(_temporary, "site"));
        Current = this;
        return default;
    }

    public async ValueTask DisposeAsync()
    {
        Http3Transport.DisposeShared();
        foreach (Lazy<Task<ServerProcess>> server in _servers.Values)
        {
            // One that did not start has said so to its tests.
            if (server.IsValueCreated && await Task.WhenAny(server.Value) is { IsCompletedSuccessfully: true } started)
            {
                await (await started).DisposeAsync();
            }
        }

        if (_temporary is not null)
        {
            Directory.Delete(_temporary, recursive: true);
        }
    }

    /// <summary>Where a front serves a folder of the files with these flags; started on first use.</summary>
    internal async Task<EndPoint> EndPointAsync(string front, string folder, string[] flags)
    {
        if (Fronts.Target is { } target)
        {
            return IPEndPoint.Parse(target);
        }

        string kind = Fronts.ServerOf(front);
        ServerProcess server = await _servers.GetOrAdd(
            string.Join('\0', [kind, folder, .. flags]),
            _ => new Lazy<Task<ServerProcess>>(() => ServerProcess.StartAsync(kind, Files.PathOf(folder), CertificateFile, flags))).Value;
        return Fronts.IsTls(front) ? server.TlsEndPoint! : server.EndPoint;
    }
}
