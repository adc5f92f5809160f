using System.Globalization;
using System.Text;
using Millrace.Interop;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Dictionaries;

/// <summary>
/// The files of a <see cref="DictionaryHistory"/>: a line with the family, then the bytes. The name is the hash of both, so that a file
/// which was cut or changed is noticed when it is read. Written under another name and renamed, so that several servers may share a folder.
/// Files with other names are left alone. One thread. Throws <see cref="IOException"/> and <see cref="UnauthorizedAccessException"/>.
/// </summary>
internal sealed class DictionaryFolder(string folder)
{
    private const string Extension = ".dict";
    private const string TemporaryExtension = ".dict-new";
    private const int FamilyHashCharacters = 16;
    private const int HashCharacters = 2 * DictionaryHash.Bytes;

    /// <summary>More than the folder of any option holds: the rest is left alone.</summary>
    private const int FilesMax = 20_000;

    private static readonly TimeSpan TemporaryAge = TimeSpan.FromHours(1);

    private static ReadOnlySpan<byte> Magic => "millrace dictionary 1 "u8;

    /// <summary>More than the line takes: a family has up to 512 characters.</summary>
    private const int LineBytesMax = 600;

    public string Path => folder;

    /// <summary>
    /// The dictionaries of the folder, with the time when each was last a file of the site. Those known by name are not read.
    /// </summary>
    public List<StoredDictionary> List(IReadOnlyDictionary<string, string> familiesByName, TimeProvider clock)
    {
        var found = new List<StoredDictionary>();
        if (!Directory.Exists(folder))
        {
            return found;
        }

        foreach (FileInfo file in new DirectoryInfo(folder).EnumerateFiles())
        {
            if (file.Name.EndsWith(TemporaryExtension, StringComparison.Ordinal))
            {
                DeleteOld(file, clock);
            }
            else if (found.Count < FilesMax
                && file.LinkTarget is null
                && TryParse(file.Name, out DictionaryHash hash)
                && (familiesByName.GetValueOrDefault(file.Name) ?? FamilyOf(file)) is { } family
                && NameOf(family, hash) == file.Name)
            {
                long bytes = file.Length - Magic.Length - family.Length - 1;
                found.Add(new StoredDictionary(family, hash, bytes, file.LastWriteTimeUtc));
            }
        }

        return found;
    }

    public void Write(string family, in DictionaryHash hash, ReadOnlySpan<byte> bytes)
    {
#pragma warning disable CA1416 // Millrace runs only on Linux.
        Directory.CreateDirectory(folder, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute);
        string path = PathOf(family, hash);
        string temporary = string.Create(CultureInfo.InvariantCulture, $"{path}-{KernelRandom.NextUInt64():x16}{TemporaryExtension}");
        try
        {
            var options = new FileStreamOptions
            {
                Mode = FileMode.CreateNew,
                Access = FileAccess.Write,
                UnixCreateMode = UnixFileMode.UserRead | UnixFileMode.UserWrite,
                BufferSize = 0,
            };
#pragma warning restore CA1416
            using (var stream = new FileStream(temporary, options))
            {
                stream.Write([.. Magic, .. Encoding.ASCII.GetBytes(family), (byte)'\n']);
                stream.Write(bytes);
            }

            File.Move(temporary, path, overwrite: true);
        }
        catch
        {
            // What is left of it would fill the disk. If it cannot be deleted now, a later listing tries again.
            TryDelete(temporary);
            throw;
        }
    }

    /// <summary>The bytes; null if there is no such file, or its content is not what its name says.</summary>
    public byte[]? Read(StoredDictionary dictionary)
    {
        string path = PathOf(dictionary.Family, dictionary.Hash);
        if (!File.Exists(path))
        {
            return null;
        }

        using FileStream stream = OpenRead(path);
        int lineBytes = Magic.Length + dictionary.Family.Length + 1;
        if (stream.Length != lineBytes + dictionary.Bytes)
        {
            return null;
        }

        byte[] bytes = new byte[dictionary.Bytes];
        stream.Position = lineBytes;
        stream.ReadExactly(bytes);
        return DictionaryHash.Of(bytes) == dictionary.Hash ? bytes : null;
    }

    /// <summary>Notes when a dictionary was last a file of the site.</summary>
    public void Touch(StoredDictionary dictionary, DateTime at)
    {
        try
        {
            File.SetLastWriteTimeUtc(PathOf(dictionary.Family, dictionary.Hash), at);
        }
        catch (Exception error) when (error is FileNotFoundException or DirectoryNotFoundException)
        {
            // Deleted meanwhile, as the next look or read shows.
        }
    }

    public void Delete(StoredDictionary dictionary) => TryDelete(PathOf(dictionary.Family, dictionary.Hash));

    public static string NameOf(string family, in DictionaryHash hash)
    {
        string familyHash = DictionaryHash.Of(Encoding.ASCII.GetBytes(family)).ToHex()[..FamilyHashCharacters];
        return $"{hash.ToHex()}-{familyHash}{Extension}";
    }

    private string PathOf(string family, in DictionaryHash hash) => System.IO.Path.Combine(folder, NameOf(family, hash));

    private static bool TryParse(string name, out DictionaryHash hash)
    {
        Span<byte> bytes = stackalloc byte[DictionaryHash.Bytes];
        bool isName = name.Length == HashCharacters + 1 + FamilyHashCharacters + Extension.Length
            && name.EndsWith(Extension, StringComparison.Ordinal)
            && Convert.FromHexString(name.AsSpan(0, HashCharacters), bytes, out _, out int written) == System.Buffers.OperationStatus.Done
            && written == DictionaryHash.Bytes;
        hash = isName ? DictionaryHash.Read(bytes) : default;
        return isName;
    }

    /// <summary>The family in the first line; null if there is none.</summary>
    private static string? FamilyOf(FileInfo file)
    {
        try
        {
            using FileStream stream = OpenRead(file.FullName);
            Span<byte> line = stackalloc byte[LineBytesMax];
            line = line[..stream.ReadAtLeast(line, LineBytesMax, throwOnEndOfStream: false)];
            int end = line.IndexOf((byte)'\n');
            return line.StartsWith(Magic) && end > Magic.Length && Ascii.IsValid(line[..end])
                ? Encoding.ASCII.GetString(line[Magic.Length..end])
                : null;
        }
        catch (Exception error) when (error is IOException or UnauthorizedAccessException)
        {
            // Deleted meanwhile, or not this server's.
            return null;
        }
    }

    /// <summary>Others may delete it meanwhile.</summary>
    private static FileStream OpenRead(string path) =>
        new(path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete, bufferSize: 0);

    private static void DeleteOld(FileInfo file, TimeProvider clock)
    {
        if (clock.GetUtcNow().UtcDateTime - file.LastWriteTimeUtc > TemporaryAge)
        {
            TryDelete(file.FullName);
        }
    }

    private static void TryDelete(string path)
    {
        try
        {
            File.Delete(path);
        }
        catch (Exception error) when (error is IOException or UnauthorizedAccessException)
        {
            // It is tried again when the history is trimmed next.
        }
    }
}

/// <summary>
/// A dictionary of the history: its family, the hash and the number of its bytes, and when it was last a file of the site.
/// </summary>
internal sealed record StoredDictionary(string Family, DictionaryHash Hash, long Bytes, DateTime LastSeen)
{
    /// <summary>The bytes, if no folder has them.</summary>
    public byte[]? InMemory { get; init; }

    /// <summary>Whether the site has this file now.</summary>
    public bool IsCurrent { get; init; }
}
