namespace Millrace.AspNetCore.Tests.Transport.Kit;

/// <summary>A folder for the time of a test, with a short name: unix sockets have 108 bytes for theirs.</summary>
internal sealed class TemporaryFolder : IDisposable
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("mr");

    public string File(string name) => Path.Combine(_folder.FullName, name);

    public void Dispose() => _folder.Delete(recursive: true);
}
